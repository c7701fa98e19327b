#pragma once

/// Measures what fair shedding costs a request: the same load with parents that shed fairly and
/// with ones that do not, while no parent sheds and while the root refuses three of four
/// requests. Both take turns in batches, and the ratio is taken per round.
void print_fair(int rounds);

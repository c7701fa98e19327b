"""Real processes for the tests: sidecars, the counting origin, open-loop load, and what they say."""

"""Membership and the transport that carries it are façades over parts, each of which knows only
those before it."""

from parts import Parts

MEMBERSHIP = Parts("membership", [
    ("member_table", []),
    ("dead_table", []),
    ("context", []),
    ("census", []),
    ("dissemination", []),
    ("member_lists", []),
    ("pings", []),
    ("responder", []),
    ("prober", []),
    ("member_search", []),
    ("transitions", []),
    ("updates", []),
    ("renewal", []),
    ("proofs", []),
    ("membership", []),
    ("owner_tracker", []),
    ("sessions", []),
    ("send_queue", []),
    ("transport", []),
])


def test_a_part_includes_only_parts_before_it():
    MEMBERSHIP.check_order()


def test_what_is_below_the_parts_includes_none_of_them():
    MEMBERSHIP.check_what_is_below()


def test_an_arrow_to_a_later_part_would_be_seen():
    assert MEMBERSHIP.later_includes(0, [MEMBERSHIP.folder / "prober.h"]) != []

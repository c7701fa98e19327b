"""With UDP blocked between all sidecars, no request is slower."""

import pytest

from harness import paired
from harness.counters import disagreements
from harness.network import Cut
from harness.sidecar import quota

LIMIT = 2000


@pytest.mark.slow
def test_no_request_is_slower_without_udp(world, folder):
    fleet = world.fleet(3, [quota("bucket", f"{LIMIT}r/s")])

    def measure(seed):
        result, datagrams = paired.measure(
            fleet, folder, seed, lambda: Cut(*(one.gossip_port for one in fleet)),
            lambda: fleet.metric("weir_gossip_packets_total", direction="in"))
        assert datagrams["whole"] > 0 and datagrams["faulty"] == 0
        return result
    first = measure(57)
    quotas = {"bucket": ["seam", *paired.STREAMS]}
    assert disagreements(fleet, first, world.origin.arrivals(), quotas) == []
    paired.assert_none_slower(fleet, first, lambda: measure(58))

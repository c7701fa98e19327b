"""Three files of one quota set at three real sidecars: what configuration.md says of `generation` is what
happens to requests, and what `weir status` and `weir quota list` show."""

import time

import pytest
import yaml

from harness import http
from harness.network import Split
from harness.processes import wait_until
from harness.sidecar import quota, quota_set

pytestmark = pytest.mark.smoke

PARTS = ["one", "two", "three"]
OPEN, SHUT = "1000r/s", "0r/s"


class Directory:
    """A sidecar's directory of parts."""

    def __init__(self, sidecar):
        self.sidecar = sidecar
        self.path = sidecar.folder / "parts"
        self.path.mkdir()
        sidecar.settings = {"quotas": [str(self.path)]}

    def write(self, part, rate, generation):
        new = self.path / f".{part}"  # a name that is no quota file until it is whole
        new.write_text(yaml.safe_dump(quota_set([quota(part, rate)], generation, "parts")))
        new.rename(self.path / f"{part}.yaml")

    def write_all(self, rate, generation):
        for part in PARTS:
            self.write(part, rate, generation)
        self.sidecar.reload()

    def remove(self, part):
        (self.path / f"{part}.yaml").unlink()


@pytest.fixture
def parts(world):
    """(fleet, directories): three sidecars with the same three files."""
    fleet = world.fleet(3, [], start=False)
    directories = [Directory(one) for one in fleet]
    for directory in directories:
        for part in PARTS:
            directory.write(part, OPEN, 1)
    fleet.start()
    assert_in_force(fleet, 1, dict.fromkeys(PARTS, OPEN))
    return fleet, directories


def assert_in_force(fleet, generation, rates):
    """By what is shown and by what is admitted; a part without a rate is not there."""
    for one in fleet:
        wait_until(lambda: sets(one) == [("parts", generation, len(rates))], 20,
                   f"{one.name} has generation {generation}")
        for part in PARTS:
            status = 429 if rates.get(part) == SHUT else 200
            wait_until(lambda: http.get(one.address, f"/{part}/x").status == status, 20,
                       f"{one.name} answers {part} with {status}")
            rows = [line for line in one.command("quota", "list").splitlines() if line.startswith(part + " ")]
            assert len(rows) == (part in rates)
            assert all(f"file parts#{generation}" in row and f" {rates[part]} " in row for row in rows), rows


def sets(sidecar):
    return [(row["name"], row["generation"], row["quotas"]) for row in sidecar.api("/v1/config")["quota_sets"]]


def conflicts(fleet):
    return [one.metric("weir_quota_set_conflict", set="parts") for one in fleet]


def wait_conflicts(fleet, wanted):
    wait_until(lambda: conflicts(fleet) == wanted, 30, f"conflicts are {wanted}")
    for one, conflict in zip(fleet, wanted):
        row = next(line for line in one.command("status").splitlines() if line.startswith("parts "))
        assert ("CONFLICT" in row) == bool(conflict), row


def reload_result(sidecar):
    return sidecar.metric("weir_config_last_reload_successful")


def test_parts_of_different_generations_change_nothing_until_all_are_there(parts):
    fleet, directories = parts
    # As a directory is changed file by file.
    for part in PARTS[:2]:
        directories[0].write(part, SHUT, 2)
        fleet[0].reload()
        wait_until(lambda: reload_result(fleet[0]) == 0, 20, "half of a change is refused")
        assert "FAILED" in fleet[0].command("status")
        assert_in_force(fleet, 1, dict.fromkeys(PARTS, OPEN))
    directories[0].write("three", SHUT, 2)
    fleet[0].reload()
    # It spreads to those whose files are older, and they say that they have other files.
    assert_in_force(fleet, 2, dict.fromkeys(PARTS, SHUT))
    assert reload_result(fleet[0]) == 1
    fleet[1].reload()
    wait_until(lambda: "OTHER FILE" in fleet[1].command("status"), 20, "the status shows it")
    # One part rolled back: different generations again, and nothing changes.
    directories[0].write("two", OPEN, 1)
    fleet[0].reload()
    wait_until(lambda: reload_result(fleet[0]) == 0, 20, "a part's rollback is refused")
    assert_in_force(fleet, 2, dict.fromkeys(PARTS, SHUT))
    # All of them rolled back: an older generation.
    directories[0].write_all(OPEN, 1)
    wait_until(lambda: "generation 2 of parts is in force, this is 1" in fleet[0].command("quota", "list"), 20,
               "it is shown")
    assert_in_force(fleet, 2, dict.fromkeys(PARTS, SHUT))
    assert conflicts(fleet) == [0, 0, 0]


@pytest.mark.parametrize("change", ["another content", "a part missing"])
def test_one_part_that_differs_is_a_conflict_that_ends_with_the_right_file(parts, change):
    fleet, directories = parts

    def make_wrong():
        if change == "a part missing":
            directories[2].remove("two")
        else:
            directories[2].write("two", SHUT, 1)
    # While it runs: what is in force stays, and only who has the file alarms.
    make_wrong()
    fleet[2].reload()
    wait_conflicts(fleet, [0, 0, 1])
    assert_in_force(fleet, 1, dict.fromkeys(PARTS, OPEN))
    directories[2].write("two", OPEN, 1)
    fleet[2].reload()
    wait_conflicts(fleet, [0, 0, 0])
    # Started with it: it holds to what it has, and all alarm.
    make_wrong()
    assert fleet[2].stop() == 0
    fleet[2].start()
    fleet.wait_together()
    wait_conflicts(fleet, [1, 1, 1])
    wrong = {"one": OPEN, "three": OPEN} if change == "a part missing" else {**dict.fromkeys(PARTS, OPEN), "two": SHUT}
    assert_in_force(fleet[2:], 1, wrong)
    assert_in_force(fleet[:2], 1, dict.fromkeys(PARTS, OPEN))
    # The same mistake at another one changes nothing there: most have the other content.
    directories[0].write("two", SHUT, 1)
    fleet[0].reload()
    wait_until(lambda: reload_result(fleet[0]) == 0, 20, "the mistake is refused")
    assert_in_force(fleet[:2], 1, dict.fromkeys(PARTS, OPEN))
    directories[0].write("two", OPEN, 1)
    fleet[0].reload()
    wait_until(lambda: reload_result(fleet[0]) == 1, 20, "and put right")
    # Put right without a restart: the right content is in force, and the alarm ends everywhere.
    directories[2].write("two", OPEN, 1)
    fleet[2].reload()
    assert_in_force(fleet, 1, dict.fromkeys(PARTS, OPEN))
    wait_conflicts(fleet, [0, 0, 0])
    wait_until(lambda: reload_result(fleet[2]) == 1, 20, "its reload is good")
    assert "CONFLICT" not in fleet[2].command("status")


def test_a_file_put_right_before_the_others_are_heard_is_taken_when_they_are(parts):
    fleet, directories = parts
    assert fleet[2].stop() == 0
    directories[2].write("two", SHUT, 1)
    with Split(fleet[2:], fleet[:2]):
        fleet[2].start()
        directories[2].write("two", OPEN, 1)
        fleet[2].reload()
        wait_until(lambda: reload_result(fleet[2]) == 0, 20, "alone it holds to what it has")
        assert_in_force(fleet[2:], 1, {**dict.fromkeys(PARTS, OPEN), "two": SHUT})
    fleet.wait_together()
    assert_in_force(fleet, 1, dict.fromkeys(PARTS, OPEN))
    wait_conflicts(fleet, [0, 0, 0])
    wait_until(lambda: reload_result(fleet[2]) == 1, 20, "its reload is good")


def test_a_mistake_that_was_refused_is_not_taken_when_a_sidecar_leaves_but_by_hand(parts):
    fleet, directories = parts
    # As a shared ConfigMap that is changed without a new generation: all refuse it.
    for one, directory in zip(fleet, directories):
        directory.write("two", SHUT, 1)
        wait_until(lambda one=one: reload_result(one) == 0, 10, "the mistake is refused")
    assert fleet[1].stop() == 0
    fleet[1].start()
    fleet.wait_together()
    wait_conflicts(fleet, [1, 1, 1])
    assert fleet[2].stop() == 0
    wait_until(lambda: fleet.live_peers(fleet[0]) == 1, 20, "one peer is left, with the mistake")
    end = time.monotonic() + 4  # what peers have is counted every second
    while time.monotonic() < end:
        assert http.get(fleet[0].address, "/two/x").status == 200
        time.sleep(0.1)

    def asked():
        fleet[0].reload()
        return reload_result(fleet[0]) == 1
    wait_until(asked, 20, "it is taken when somebody asks", every_s=1)
    assert_in_force(fleet[:2], 1, {**dict.fromkeys(PARTS, OPEN), "two": SHUT})
    wait_conflicts(fleet[:2], [0, 0])


def test_a_part_goes_with_a_new_generation_of_the_others(parts):
    fleet, directories = parts
    directories[0].remove("three")
    fleet[0].reload()
    wait_conflicts(fleet, [1, 0, 0])
    assert_in_force(fleet, 1, dict.fromkeys(PARTS, OPEN))
    for part in PARTS[:2]:
        directories[0].write(part, SHUT, 2)
    fleet[0].reload()
    assert_in_force(fleet, 2, dict.fromkeys(PARTS[:2], SHUT))
    wait_conflicts(fleet, [0, 0, 0])
    # All files gone: the fleet keeps what it has.
    for part in PARTS[:2]:
        directories[0].remove(part)
    fleet[0].reload()
    wait_until(lambda: "stays in force in the fleet" in fleet[0].process.log.read_text(), 20, "a warning")
    assert_in_force(fleet, 2, dict.fromkeys(PARTS[:2], SHUT))

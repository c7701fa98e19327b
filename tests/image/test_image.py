"""The Dockerfile, really built, and what it makes, really run: a request goes through a container.

Needs root (or sudo without a password), and a machine that lets it mount and change its root; where
it does not, the tests are skipped and say why. The images lie in build/tools/image.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness import http  # noqa: E402
from harness.origin import Origin  # noqa: E402
from harness.paths import RUNS  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.processes import Process, wait_until  # noqa: E402

STORE = ROOT / "build" / "tools" / "image"
TAG = "localhost/weir:test"
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
BUILDAH = [*AS_ROOT, "buildah", "--root", STORE / "root", "--runroot", STORE / "run"]


def run(*arguments, timeout_s=60):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                          timeout=timeout_s, cwd=ROOT)
    assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def why_no_container_can_run_here():
    """What a RUN step needs of the machine: mounts of its own and another root."""
    tried = subprocess.run([*AS_ROOT, "unshare", "--mount", "sh", "-c",
                            "mount -t tmpfs none /mnt && chroot / true"],
                           capture_output=True, text=True, timeout=30)
    return tried.stderr.strip() if tried.returncode != 0 else None


@pytest.fixture(scope="session")
def image():
    if reason := why_no_container_can_run_here():
        pytest.skip(f"no container can run here: {reason}")
    run(*AS_ROOT, "env", f"STORE={STORE}", "scripts/build-image", TAG, timeout_s=1500)
    run(*BUILDAH, "rmi", "--prune", timeout_s=300)  # what an earlier run left under the tag
    return json.loads(run(*BUILDAH, "inspect", "--type", "image", TAG))["OCIv1"]["config"]


@pytest.fixture
def container(image):
    name = run(*BUILDAH, "from", "--pull-never", TAG).strip()
    yield name
    run(*BUILDAH, "rm", name)


def in_container(container, *command, volume=None):
    mounts = ["--volume", f"{volume}:/etc/weir/config:ro"] if volume else []
    return [*BUILDAH, "run", "--isolation", "chroot", *mounts, container, "--", *command]


def children(pid):
    """The kernel lists children by the thread that made them, and in Go that may be any."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in listing.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass  # that thread, or the whole process, has ended
    return found


def descendants(pid):
    return [found for child in children(pid) for found in (child, *descendants(child))]


@pytest.fixture
def tree(container):
    """The folder where the container's files are."""
    yield Path(run(*BUILDAH, "mount", container).strip())
    run(*BUILDAH, "umount", container)


def version():
    return (ROOT / "CMakeLists.txt").read_text().split("VERSION ")[2].split()[0]


def revision():
    return run("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD").strip() if (ROOT / ".git").exists() else "unknown"


def test_it_holds_the_program_and_what_that_needs_and_no_more(image, container, tree):
    # Before anything runs: buildah then adds files for it.
    programs = [path for path in tree.rglob("*")
                if path.is_file() and os.access(path, os.X_OK) and ".so" not in path.name]
    assert programs == [tree / "usr/bin/weir"]  # so there is no shell
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in files if "ssl" in path.name or "crypto" in path.name or "certs" in str(path)]
    size = sum(path.stat().st_size for path in files)
    assert size < 16e6, {str(path): path.stat().st_size for path in files}
    told = run(*in_container(container, "weir", "version"))
    assert version() in told and f"commit    {revision()}" in told
    run(*in_container(container, "weir", "validate", "--config", "/etc/weir/example/config/weir.yaml"))


def test_its_labels_and_the_list_of_its_parts(image, tree):
    prefix = "org.opencontainers.image."
    labels = {name.removeprefix(prefix): value for name, value in image["Labels"].items() if name.startswith(prefix)}
    assert (labels["title"], labels["version"], labels["revision"]) == ("weir", version(), revision())
    assert labels["description"]
    assert f"ARG VERSION={version()}\n" in (ROOT / "Dockerfile").read_text()  # for whoever builds it by hand
    text = (tree / "usr/share/doc/weir/sbom.spdx.json").read_text()
    assert (ROOT / "build" / "weir.spdx.json").read_text() == text
    listed = json.loads(text)
    assert listed["spdxVersion"] == "SPDX-2.3"
    parts = {part["name"]: part for part in listed["packages"]}
    assert parts["weir"]["versionInfo"] == version() and revision() in parts["weir"]["sourceInfo"]
    assert {"libc6", "libstdc++6", "libsodium23", "libyaml-cpp0.7", "libcctz2", "libboost1.81-dev"} <= set(parts)
    assert len({part["SPDXID"] for part in listed["packages"]}) == len(parts)
    linked = {relation["relatedSpdxElement"] for relation in listed["relationships"]}
    assert linked == {part["SPDXID"] for part in listed["packages"]}
    # Each package of which something is there is listed, with its licence.
    described = {path.name for path in (tree / "var/lib/dpkg/status.d").iterdir()}
    assert described == {relation["relatedSpdxElement"].removeprefix("SPDXRef-deb-").replace("libstdc--6", "libstdc++6")
                         for relation in listed["relationships"]
                         if relation["relationshipType"] in ("DYNAMIC_LINK", "DEPENDS_ON")}
    assert "tzdata" in described
    assert all((tree / "usr/share/doc" / name / "copyright").stat().st_size > 0 for name in described)


def test_it_has_the_time_zones_once_and_nothing_else_of_their_database(image, tree):
    folder = tree / "usr/share/zoneinfo"
    zones = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    assert {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "US/Pacific"} <= zones
    assert all((folder / name).read_bytes().startswith(b"TZif") for name in zones)
    assert not [name for name in zones if name.startswith(("posix", "right", "localtime"))]


def test_it_serves_as_nobody_and_holds_its_limit(image, container):
    folder = RUNS / "image"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    origin = Origin(folder)
    address, status = (f"127.0.0.1:{free_port()}" for _ in range(2))
    # By a name, because what looks up names is loaded only then.
    upstream = origin.address.replace("127.0.0.1", "localhost")
    settings = {"listen": address, "upstream": f"http://{upstream}", "status": status,
                "admin": f"127.0.0.1:{free_port()}", "quotas": ["/etc/weir/config/quotas.yaml"],
                "routes": [{"match": {"path": "/**"}, "quota": ["all"]}]}
    quotas = {"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "test",
              "quotas": [{"name": "all", "limits": [{"rate": "5r/h"}]}]}
    (folder / "weir.yaml").write_text(yaml.safe_dump(settings))
    (folder / "quotas.yaml").write_text(yaml.safe_dump(quotas))
    # What a container engine would start.
    serving = Process(in_container(container, *image["Entrypoint"], *image["Cmd"], volume=folder),
                      folder / "weir.log")

    def ready():
        assert serving.running(), serving.log.read_text()
        try:
            return http.get(status, "/readyz", timeout_s=2).status == 200
        except OSError:
            return False
    try:
        wait_until(ready, 30, f"weir is ready: see {serving.log}")
        states = [Path(f"/proc/{pid}/status").read_text() for pid in descendants(serving.pid)]
        [ids] = [state for state in states if state.startswith("Name:\tweir\n")]
        assert image["User"] == "65532:65532" and "Uid:\t65532\t65532" in ids
        answers = [http.get(address, "/x").status for _ in range(12)]
        assert answers.count(200) == 5 and answers.count(429) == 7
        assert origin.arrivals().total() == 5
    finally:
        # In one command: an outer one may end by itself as soon as the one it waits for has.
        subprocess.run([*AS_ROOT, "kill", "-KILL", *map(str, descendants(serving.pid))], check=False)
        serving.kill()
        origin.process.kill()

"""The Debian package that cpack makes, in a minimal Debian 12: it installs, serves as its user, and goes.

Needs root (or sudo without a password), and a machine that lets it mount and change its root; where it does not,
the tests are skipped and say why.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness.paths import BIN, RUNS  # noqa: E402

AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
# Where scripts/build-image keeps it, too.
MINIMAL = ROOT / "build" / "tools" / "image" / "debian-12-minimal.tar"
FOLDER = RUNS / "package"
INSTALL = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]


def run(*arguments, timeout_s=120):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                          timeout=timeout_s)
    assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def in_chroot(*command, **options):
    clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]
    return run(*AS_ROOT, "chroot", FOLDER / "root", *clean, *command, **options)


def state():
    return in_chroot("dpkg-query", "-W", "-f", "${db:Status-Abbrev}", "weir").strip()


def made_package():
    packages = FOLDER / "made"
    run("cpack", "--config", BIN.parent / "CPackConfig.cmake", "-B", packages)
    [package] = packages.glob("*.deb")
    return package


@pytest.fixture(scope="module")
def root():
    """A fresh root in which the package was installed with what it depends on."""
    tried = subprocess.run([*AS_ROOT, "unshare", "--mount", "sh", "-c",
                            "mount -t tmpfs none /mnt && chroot / true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no change of root here: {tried.stderr.strip()}")
    run(*AS_ROOT, "rm", "-rf", FOLDER)
    FOLDER.mkdir(parents=True)
    if not MINIMAL.exists():
        MINIMAL.parent.mkdir(parents=True, exist_ok=True)
        made = MINIMAL.with_suffix(".new")
        run(*AS_ROOT, "mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", "bookworm", made, timeout_s=900)
        made.rename(MINIMAL)
    path = FOLDER / "root"
    path.mkdir()
    run(*AS_ROOT, "tar", "-C", path, "-xf", MINIMAL)
    for file in ("/etc/resolv.conf", "/etc/hosts"):
        run(*AS_ROOT, "cp", "-L", file, path / "etc")
    run(*AS_ROOT, "cp", made_package(), path / "weir.deb")
    in_chroot("apt-get", "update", "-qq", timeout_s=300)
    in_chroot(*INSTALL, "/weir.deb", timeout_s=300)
    yield path
    run(*AS_ROOT, "rm", "-rf", path)


SERVE = """
ip link set lo up
{start} &
for i in $(seq 200); do
    curl -sf http://127.0.0.1:9902/readyz && break
    kill -0 $! || break
    sleep 0.05
done
# `start` became weir itself.
grep '^Uid:' /proc/$!/status
kill $!
wait $!
"""


def test_it_installs_and_its_program_is_valid(root):
    assert state() == "ii"
    assert in_chroot("weir", "version").startswith("weir ")
    assert in_chroot("weir", "validate", "--strict", "--config", "/etc/weir/weir.yaml").startswith("valid: ")
    needed = in_chroot("dpkg-query", "-W", "-f", "${Depends}", "weir")
    assert "libc6" in needed and "ca-certificates" not in needed and "openssl" not in needed
    assert "libcctz2" in needed and "tzdata" in needed
    conffiles = in_chroot("dpkg-query", "-W", "-f", "${Conffiles}", "weir")
    assert "/etc/weir/weir.yaml" in conffiles and "/etc/weir/limits.yaml" in conffiles


def test_its_exec_start_serves_as_its_user(root):
    text = (root / "usr/lib/systemd/system/weir.service").read_text()
    command = text.split("ExecStart=")[1].splitlines()[0]
    assert command == "/usr/bin/weir run --config /etc/weir/weir.yaml"
    assert "\nUser=weir\n" in text
    start = f"exec chroot --userspec=weir:weir {root} {command} 2>{root}/tmp/log"
    # In a network of its own, because the settings name usual ports.
    served = run(*AS_ROOT, "unshare", "--net", "bash", "-c", SERVE.format(start=start))
    number = in_chroot("id", "-u", "weir").strip()
    assert number != "0" and served.startswith("ok"), served
    assert served.split("Uid:")[1].split() == [number] * 4


def test_an_upgrade_keeps_the_operators_settings_and_makes_the_user_with_systemd_too(root):
    run(*AS_ROOT, "sh", "-c", f"echo '# mine' >> {root}/etc/weir/limits.yaml")
    in_chroot("userdel", "weir")
    in_chroot(*INSTALL, "systemd", timeout_s=300)
    in_chroot(*INSTALL, "--reinstall", "/weir.deb")
    assert in_chroot("getent", "passwd", "weir").split(":", 4)[4] == \
        "weir, a rate-limiting reverse proxy:/var/lib/weir:/usr/sbin/nologin\n"  # as weir.conf says
    assert (root / "etc/weir/limits.yaml").read_text().endswith("# mine\n")
    assert state() == "ii"


def test_its_unit_passes(root):
    said = in_chroot("sh", "-c", "systemd-analyze verify --man=no weir.service 2>&1")
    assert said == ""


def test_a_removal_leaves_only_settings_and_state_and_a_purge_neither(root):
    run(*AS_ROOT, "mkdir", "-p", root / "var/lib/weir", root / "var/lib/private/weir")
    in_chroot("apt-get", "remove", "-y", "-qq", "weir")
    assert state() == "rc"
    left = in_chroot("sh", "-c", "find / -xdev -name '*weir*' ! -path '/proc/*' ! -path '/var/lib/dpkg/*' | sort").split()
    assert left == ["/etc/weir", "/etc/weir/weir.yaml", "/var/lib/private/weir", "/var/lib/weir", "/weir.deb"]
    assert (root / "etc/weir/limits.yaml").exists()
    in_chroot("apt-get", "purge", "-y", "-qq", "weir")
    assert in_chroot("sh", "-c", "ls -d /etc/weir /var/lib/weir /var/lib/private/weir 2>/dev/null || true") == ""
    # Its number must not go to somebody else: see packaging/debian/postrm.
    assert in_chroot("getent", "passwd", "weir").startswith("weir:")

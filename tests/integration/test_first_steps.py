"""The commands that `weir --help` shows, run as they stand there, with the files of the README."""

import re
import shlex
import socket
import subprocess

import pytest

from harness import http
from harness.origin import Origin
from harness.paths import ROOT, program
from harness.processes import Process, wait_until

# Together far above what the limit of one tenant, 100r/s, lets pass at once.
CONNECTIONS = 4
REQUESTS_OF_EACH = 1000


def weir(*arguments, folder):
    return subprocess.run([program("weir"), *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def folder_of_readme(folder):
    """The README's two files, in a folder in which commands run as in the README."""
    blocks = re.findall(r"```yaml\n# (\S+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for name, text in blocks:
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def app_on_port_3000(folder):
    origin = Origin(folder, listeners=("origin=127.0.0.1:3000",))
    yield origin
    origin.stop()


def examples():
    """The commands of the help, each a list of arguments without `weir`."""
    text = subprocess.run([program("weir"), "--help"], capture_output=True, text=True, timeout=20).stdout
    lines = re.findall(r"^  (weir .+?)(?:   .*)?$", text.split("Examples:\n")[1], re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


def statuses(path):
    """Of requests that are sent in a row, without waiting for answers."""
    one = f"GET {path} HTTP/1.1\r\nHost: shop.test\r\n"
    with socket.create_connection(("127.0.0.1", 8080), timeout=60) as client:
        client.sendall((f"{one}\r\n" * (REQUESTS_OF_EACH - 1) + f"{one}Connection: close\r\n\r\n").encode())
        answers = b"".join(iter(lambda: client.recv(1 << 16), b""))
    found = re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)
    assert len(found) == REQUESTS_OF_EACH
    return found


def sees_a_429(path="/acme/orders"):
    return any(b"429" in statuses(path) for _ in range(CONNECTIONS))


def test_each_run_of_the_help_limits_and_the_other_commands_work_beside_it(folder_of_readme, app_on_port_3000):
    shown = examples()
    runs = [arguments for arguments in shown if arguments[0] == "run"]
    others = [arguments for arguments in shown if arguments[0] != "run"]
    assert len(runs) >= 3 and len(others) >= 5
    for arguments in runs:
        sidecar = Process([program("weir"), *arguments], folder_of_readme / "weir.log", cwd=folder_of_readme)
        try:
            wait_until(lambda: ready(sidecar), 20, "it is ready")
            assert sees_a_429(), arguments
            for other in others if arguments is runs[0] else []:
                done = weir(*other, folder=folder_of_readme)
                assert done.returncode == 0, (other, done.stderr)
        finally:
            assert sidecar.terminate(30) == 0


def ready(sidecar):
    assert sidecar.running(), sidecar.log_tail()
    try:
        return http.get("127.0.0.1:9902", "/readyz").status == 200
    except OSError:
        return False


@pytest.mark.smoke
def test_without_routes_the_warning_names_the_only_root(folder_of_readme):
    done = weir("validate", "--upstream", "http://127.0.0.1:3000", "--quotas", "limits.yaml", folder=folder_of_readme)
    assert done.returncode == 0
    assert "there are no routes, so nothing is limited" in done.stderr
    assert "--route '/**=shop'" in done.stderr


def test_a_folder_without_documents_is_warned_of(tmp_path):
    done = weir("validate", "--strict", str(tmp_path), folder=tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path}: warning: the folder holds no quota document" in done.stderr


def test_validate_counts_the_quotas_of_a_long_set(folder_of_readme):
    names = ", ".join(f"{{name: q{number}}}" for number in range(9000))
    (folder_of_readme / "long.yaml").write_text(
        f"apiVersion: weir/v1\nkind: QuotaSet\nname: long\nquotas: [{names}]\n")
    done = weir("validate", "--upstream", "http://127.0.0.1:3000", "--quotas", "long.yaml",
                "--route", "/**=q1", folder=folder_of_readme)
    assert done.returncode == 0 and "valid: 1 quota set(s), 9000 quota(s)" in done.stdout


def test_a_route_of_a_flag_is_warned_of_in_its_own_name(folder_of_readme):
    done = weir("validate", "--upstream", "http://127.0.0.1:3000", "--quotas", "limits.yaml",
                "--route", "/**=shp", folder=folder_of_readme)
    assert "--route: warning: routes[0].quota: there is no quota 'shp'" in done.stderr
    assert "did you mean 'shop'?" in done.stderr


@pytest.mark.parametrize("flags", [["--route", ""], ["--route", "/**=shop", "--route", ""]])
def test_an_empty_route_of_a_flag_is_an_error(folder_of_readme, flags):
    done = weir("validate", "--config", "weir.yaml", *flags, folder=folder_of_readme)
    assert done.returncode == 1 and "--route: '' must be a path pattern" in done.stderr


def test_an_empty_variable_is_as_none(folder_of_readme):
    empty = ["env", "WEIR_ROUTE=", "WEIR_QUOTAS=", "WEIR_LISTEN="]
    command = [*empty, program("weir"), "validate", "--strict", "--config", "weir.yaml"]
    done = subprocess.run(command, cwd=folder_of_readme, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")
    newline_at_its_end = ["env", "WEIR_ROUTE=/**=shop\n", *command[len(empty):]]
    done = subprocess.run(newline_at_its_end, cwd=folder_of_readme, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


def test_routes_of_a_variable(folder_of_readme):
    command = ["env", "WEIR_ROUTE=/nowhere", program("weir"), "validate", "--config", "weir.yaml"]
    done = subprocess.run(command, cwd=folder_of_readme, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "WEIR_ROUTE: '/nowhere' must be a path pattern" in done.stderr

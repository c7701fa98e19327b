"""docs/recipes.md: each recipe's files are written, its programs and commands run, and its outputs compared."""

import http.server
import os
import re
import socket
import subprocess
import threading

import pytest

from harness.hosts import need
from harness.paths import BIN, ROOT, program
from harness.ports import free_port
from harness.processes import Process, die_with_parent, wait_until

PAGE = (ROOT / "docs" / "recipes.md").read_text()
BLOCKS = re.compile(r"```(?:yaml|nginx|text)\n# (\S+)\n(.*?)```", re.DOTALL)
# What the page has as ports: the proxy's own, weir's, and the app's.
PORTS = ("8000", "8080", "9901", "9902", "9903", "3000")


def recipes():
    """(title, text) of each section with a console."""
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if "```console" in text:
            yield pytest.param(text, id=title.lower().replace(" ", "-").replace(",", ""))


class App(http.server.BaseHTTPRequestHandler):
    """Answers 200; 401 to a wrong password; what came as X-Forwarded-Proto at /proto."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        login = self.path.startswith("/login") and self.command == "POST"
        said = f"{self.headers.get('X-Forwarded-Proto')}\n".encode() if self.path == "/proto" else b"fine\n"
        self.send_response(401 if login and body != b"password=right" else 200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def ports():
    """{the page's port: the one in its place}; at 3000 there is an app."""
    app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
    app.daemon_threads = True
    thread = threading.Thread(target=app.serve_forever, daemon=True)
    thread.start()
    yield {port: str(app.server_address[1] if port == "3000" else free_port()) for port in PORTS}
    app.shutdown()
    app.server_close()
    thread.join()


def envoy():
    return subprocess.run([ROOT / "scripts" / "install-envoy"], check=True, timeout=600, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def other_program(folder):
    """The proxy in front whose file the recipe has, or none."""
    if (folder / "nginx.conf").exists():
        return [need("nginx"), "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log",
                "-g", "daemon off; master_process off;"]
    if (folder / "haproxy.cfg").exists():
        return [need("haproxy"), "-db", "-f", folder / "haproxy.cfg"]
    if (folder / "envoy.yaml").exists():
        return [envoy(), "-c", folder / "envoy.yaml", "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warning"]
    return []


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def commands(text):
    """(command, the lines that it prints) of the recipe's consoles."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.replace("\\\n", "").partition("\n")
            yield command, output.splitlines()


def with_ports(ports, text):
    return re.sub(r"\b(" + "|".join(PORTS) + r")\b", lambda found: ports[found.group()], text)


def environment(folder, ports):
    """Without variables of weir but those that put the listeners, which no file names, where this test alone is."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
    return {**clean, "HOME": str(folder), "PATH": f"{BIN}:{os.environ['PATH']}", "WEIR_DRAIN_KEEP_ACCEPTING": "0s",
            "WEIR_ADMIN": f"127.0.0.1:{ports['9901']}", "WEIR_STATUS": f"127.0.0.1:{ports['9902']}"}


@pytest.mark.smoke
@pytest.mark.parametrize("text", recipes())
def test_each_recipe_shows_what_really_happens(text, folder, ports):
    files = BLOCKS.findall(text)
    assert {"weir.yaml", "limits.yaml"} <= {name for name, _ in files}
    for name, content in files:
        (folder / name).write_text(with_ports(ports, content))
    weir = program("weir")
    env = environment(folder, ports)
    strict = subprocess.run([weir, "validate", "--strict", "--config", folder / "weir.yaml"], env=env,
                            capture_output=True, text=True, timeout=30)
    assert strict.returncode == 0, strict.stderr
    started = [Process([weir, "run", "--config", folder / "weir.yaml"], folder / "weir.log", env=env, cwd=folder)]
    try:
        wait_until(lambda: listening(ports["8080"]) and listening(ports["9902"]), 30, "weir listens")
        if other := other_program(folder):
            started.append(Process(other, folder / "other.log", env=env, cwd=folder))
            wait_until(lambda: listening(ports["8000"]), 60, "the proxy in front listens")
        statuses = ""
        for command, shown in commands(text):
            done = subprocess.run(["bash", "-c", with_ports(ports, command)], cwd=folder, env=env, capture_output=True,
                                  text=True, timeout=60, preexec_fn=die_with_parent)
            printed = [line.strip() for line in done.stdout.splitlines()]
            assert printed == shown, (command, done.stderr, (folder / "weir.log").read_text())
            statuses += done.stdout
        assert "429" in statuses
    finally:
        for process in reversed(started):
            process.terminate()


@pytest.mark.smoke
def test_the_readme_begins_with_a_refusal(folder, ports):
    """Its first console, run as it stands there; `…` is what differs from run to run."""
    first = re.search(r"```console\n.*?```", (ROOT / "README.md").read_text(), re.DOTALL).group()
    (shown, limits), (start, _), *asked = commands(first)
    assert shown == "cat limits.yaml" and start.startswith("weir run ") and start.endswith(" &")
    (folder / "limits.yaml").write_text("\n".join(limits))
    env = {**environment(folder, ports), "WEIR_LISTEN": f"127.0.0.1:{ports['8080']}"}
    weir = Process(["bash", "-c", "exec " + with_ports(ports, start.removesuffix(" &"))], folder / "start.log",
                   env=env, cwd=folder, judged=True)
    try:
        wait_until(lambda: listening(ports["8080"]), 30, "weir listens")
        for command, expected in asked:
            done = subprocess.run(["bash", "-c", with_ports(ports, command)], cwd=folder, env=env, capture_output=True,
                                  text=True, timeout=60)
            printed = "\n".join(line.strip() for line in done.stdout.splitlines())
            assert re.fullmatch(".*".join(map(re.escape, "\n".join(expected).split("…"))), printed), printed
    finally:
        weir.terminate()


def test_the_page_has_a_recipe_for_each_purpose():
    assert len(list(recipes())) == 17

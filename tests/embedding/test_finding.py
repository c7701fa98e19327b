"""How programs find the library when they are built and when they start, and the Go package as a module."""

import re
import subprocess
import zipfile

import pytest

from conftest import EXAMPLES, ROOT, run

QUOTAS = "apiVersion: weir/v1\nkind: QuotaSet\nname: test\nquotas:\n  - {name: shared, limits: [{rate: 1r/m}]}\n"
CONSUMER = """\
package main

import (
	"fmt"
	"os"

	"MODULE"
)

func main() {
	fleet, err := weir.Open(weir.Options{QuotaDocument: os.Args[1]})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer fleet.Close()
	for range 2 {
		fmt.Println(fleet.Check("shared", 1, weir.Charge).Admitted)
	}
}
"""


def without_path(installed):
    """The environment of a program to which nobody says where the library is."""
    return {key: value for key, value in installed.environment.items() if key != "LD_LIBRARY_PATH"}


def start(program, installed, *arguments, **options):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60,
                          env=without_path(installed), **options)


def test_a_program_is_told_the_folder_when_it_is_linked(installed, tmp_path):
    """The two lines of docs/embedding.md, without and with the run path."""
    flags = installed.run("pkg-config", "--cflags", "--libs", "weir").split()
    folder = installed.run("pkg-config", "--variable=libdir", "weir").strip()
    source = EXAMPLES / "c" / "check.c"
    installed.run("cc", source, "-o", tmp_path / "lost", *flags)
    lost = start(tmp_path / "lost", installed, "shared", input=QUOTAS)
    assert lost.returncode == 127 and "libweir.so.1: cannot open shared object file" in lost.stderr
    installed.run("cc", source, "-o", tmp_path / "found", *flags, f"-Wl,-rpath,{folder}")
    found = start(tmp_path / "found", installed, "shared", input=QUOTAS)
    assert (found.returncode, found.stdout.split()[0]) == (0, "admitted"), found.stderr


def test_cmake_keeps_the_folder_if_it_is_told_to(installed, tmp_path):
    installed.run("cmake", "-S", EXAMPLES / "cpp", "-B", tmp_path / "build", "-G", "Ninja",
                  f"-DCMAKE_PREFIX_PATH={installed.prefix}", "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON")
    installed.run("cmake", "--build", tmp_path / "build")
    linked = run("readelf", "-d", tmp_path / "build" / "limited-client")
    assert re.search(rf"R(?:UN)?PATH.*\[[^\]]*{installed.library}", linked)


@pytest.mark.parametrize("path", ["example.org/weir", "git.example.com/Platform/weir"])
def test_the_go_package_is_fetched_as_a_module(installed, tmp_path, path):
    proxy, consumer = tmp_path / "proxy", tmp_path / "consumer"
    consumer.mkdir()
    (consumer / "main.go").write_text(CONSUMER.replace("MODULE", path))
    named = [] if path == "example.org/weir" else [path]
    told = run(ROOT / "scripts" / "make-go-module", proxy, *named).split()
    assert told[0] == path
    go = run(ROOT / "scripts" / "install-go").strip()
    environment = {**without_path(installed), "GOPROXY": f"file://{proxy}", "GONOSUMDB": "*", "GOFLAGS": "-modcacherw",
                   "GOMODCACHE": str(tmp_path / "modules"), "CGO_LDFLAGS": f"-Wl,-rpath,{installed.library}"}
    for command in (["mod", "init", "example.org/consumer"], ["get", f"{path}@latest"], ["build", "-o", "consumer", "."]):
        run(go, *command, cwd=consumer, env=environment)
    assert f"require {path} {told[1]} " in (consumer / "go.mod").read_text()
    done = start(consumer / "consumer", installed, QUOTAS)
    assert (done.returncode, done.stdout) == (0, "true\nfalse\n"), done.stderr


def test_a_path_without_a_host_is_no_path_of_a_module(tmp_path):
    done = subprocess.run([ROOT / "scripts" / "make-go-module", tmp_path, "weir"], capture_output=True, text=True)
    assert done.returncode == 1 and "begins with the name of a host" in done.stderr


def test_the_example_asks_for_the_version_that_is_made(tmp_path):
    version = run(ROOT / "scripts" / "make-go-module", tmp_path).split()[1]
    assert f"require example.org/weir {version}\n" in (EXAMPLES / "go" / "go.mod").read_text()


def test_a_version_that_was_made_is_not_made_again_with_other_contents(tmp_path):
    script = ROOT / "scripts" / "make-go-module"
    folder = tmp_path / "example.org" / "weir" / "@v"
    folder.mkdir(parents=True)
    (folder / "list").write_text("v0.0.1\n")
    version = run(script, tmp_path).split()[1]
    assert (folder / "list").read_text().split() == ["v0.0.1", version]
    first = (folder / f"{version}.zip").read_bytes()
    run(script, tmp_path)
    assert (folder / "list").read_text().split() == ["v0.0.1", version]
    with zipfile.ZipFile(folder / f"{version}.zip", "a") as archive:
        names = archive.namelist()
        archive.writestr("more", "x")
    assert all(name.endswith((".go", "/go.mod")) for name in names)
    changed = (folder / f"{version}.zip").read_bytes()
    done = subprocess.run([script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "has other contents" in done.stderr
    assert (folder / f"{version}.zip").read_bytes() == changed != first

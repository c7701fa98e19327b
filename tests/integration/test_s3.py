"""S3 clients see the same with weir in between as without, and weir counts the right operations."""

import contextlib
import json
import os
import re
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import http
from harness.paths import ROOT
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.sidecar import Sidecar, quota

pytestmark = pytest.mark.smoke

OPERATIONS = ["CreateBucket", "HeadBucket", "DeleteBucket", "PutObject", "HeadObject", "GetObject",
              "CopyObject", "DeleteObject", "ListObjectsV2", "CreateMultipartUpload", "UploadPart",
              "CompleteMultipartUpload", "ListObjects", "DeleteObjects", "GetObjectAcl",
              "PutObjectAcl"]
DOMAIN = "s3.localhost"  # of clients that name the bucket by the host
HERE = Path(__file__).resolve().parent
CLIENT_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
                      "AWS_DEFAULT_REGION": "us-east-1", "AWS_PAGER": "", "LC_ALL": "C.UTF-8",
                      "PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="session")
def tools():
    done = subprocess.run([ROOT / "scripts" / "install-s3-tools"], check=True, timeout=600,
                          stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip().splitlines()[-1]) / "bin"


class S3Server:
    def __init__(self, tools, folder, name):
        self.address = f"127.0.0.1:{free_port()}"
        self.process = Process([tools / "moto_server", "-H", "127.0.0.1", "-p",
                                self.address.rsplit(":", 1)[1]], folder / f"{name}.log",
                               env={**os.environ, "PYTHONUNBUFFERED": "1"})
        wait_until(self.ready, 60, "the S3 server is ready")

    def ready(self):
        try:
            return http.get(self.address, "/moto-api/data.json").status == 200
        except OSError:
            return False


@pytest.fixture
def two_ways(tools, folder):
    """(endpoint of a server, endpoint of weir before another server, the sidecar)."""
    servers = [S3Server(tools, folder, name) for name in ("direct", "behind")]
    quotas = [quota("s3", "1000000r/s"), quota("s3/{bucket}", "1000000r/s", parent="s3"),
              *(quota(f"s3/{{bucket}}/{operation}", "1000000r/s", parent="s3/{bucket}")
                for operation in OPERATIONS)]
    sidecar = Sidecar("a", folder, servers[1].address, routes=[{"preset": "s3", "domain": ["127.0.0.1", DOMAIN]}],
                      quotas=quotas, settings={"timeouts": {"connect": "2s"}})
    sidecar.start()
    yield f"http://{servers[0].address}", f"http://{sidecar.address}", sidecar
    sidecar.stop()
    for server in servers:
        server.process.terminate()


def run(arguments, folder, timeout_s=120):
    """(exit code, output) of a client."""
    done = subprocess.run([str(argument) for argument in arguments], cwd=folder, timeout=timeout_s,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**CLIENT_ENVIRONMENT, "HOME": str(folder)})
    return done.returncode, done.stdout


class AwsCli:
    """awscli, loaded once for many calls in one folder; used in place of run()."""

    def __init__(self, folder):
        self.process = subprocess.Popen(["/usr/bin/python3", HERE / "s3" / "aws_forked.py"], cwd=folder, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**CLIENT_ENVIRONMENT, "HOME": str(folder)})

    def __call__(self, arguments, _):
        assert arguments[0] == "/usr/bin/aws"
        self.process.stdin.write(json.dumps([str(argument) for argument in arguments[1:]]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)


def counted(sidecar):
    """How often each operation was counted; what was not is left out."""
    samples = sidecar.metrics()

    def admitted(name):
        return int(http.metric_sum(samples, "weir_quota_admitted_total", quota=name))
    counts = {operation: admitted(f"s3/{{bucket}}/{operation}") for operation in OPERATIONS}
    assert sum(counts.values()) == admitted("s3"), f"operations beside {counts}"
    return {operation: count for operation, count in counts.items() if count}


def boto3_status(step):
    """What a step of the scenario ends with."""
    named = {"head no bucket": 404, "range": 206, "range end": 206, "range over": 416}
    kinds = {"get deleted ": 404, "delete ": 204}
    return named.get(step) or next((status for kind, status in kinds.items() if step.startswith(kind)), 200)


@pytest.mark.parametrize("style", ["path", "virtual"])
def test_boto3_sees_the_same(two_ways, tools, folder, style):
    direct, through, sidecar = two_ways
    scenario = [tools / "python", HERE / "s3" / "boto3_scenario.py"]
    results = []
    for endpoint in (direct, through):
        if style == "virtual":
            endpoint = endpoint.replace("127.0.0.1", DOMAIN)
        code, output = run([*scenario, endpoint, style], folder)
        assert code == 0, output
        results.append(json.loads(output.splitlines()[-1]))
    assert results[1] == results[0]
    steps = results[0]["steps"]
    buckets = ["no-such-bucket", "plain-bucket"]
    hosts = {"path": ["127.0.0.1"], "virtual": [f"{bucket}.{DOMAIN}" for bucket in buckets]}
    assert results[0]["hosts"] == hosts[style]
    assert {name: step["status"] for name, step in steps.items()
            if step["status"] != boto3_status(name)} == {}
    assert steps["get large"]["ContentLength"] == 10 * 1024 * 1024
    assert steps["range"]["ContentRange"] == f"bytes 1000-2000/{10 * 1024 * 1024}"
    named = [name.removeprefix("put ") for name in steps if name.startswith("put ")]
    keys = len(named)
    assert keys == 11
    assert ([key for key, _ in steps["list"]["keys"]]
            == sorted([*named, *(f"copies/{number}" for number in range(keys))], key=str.encode))
    assert [key for key, _ in steps["list prefix"]["keys"]] == ["two//slashes"]
    assert steps["list empty"]["KeyCount"] == 0
    assert counted(sidecar) == {
        "CreateBucket": 1, "HeadBucket": 1 + 1, "DeleteBucket": 1, "PutObject": keys,
        "HeadObject": keys, "GetObject": 2 * keys + 4, "CopyObject": keys,
        "DeleteObject": 2 * keys + 1, "ListObjectsV2": 3, "CreateMultipartUpload": 1,
        "UploadPart": 2, "CompleteMultipartUpload": 1,
    }


ODD_NAMES = ["a b.txt", "a+b.txt", "a%2Fb.txt", "two//slashes.txt", "up/../here.txt", "ünï.txt"]
# The names that a file can have; the others are no file's or another one's.
FILE_NAMES = [name for name in ODD_NAMES if "/" not in name]
KEY_NAMES = [name for name in ODD_NAMES if "/" in name]
SMALL, LARGE = b"a small file\n", bytes(range(256)) * 64 * 1024


@dataclass
class Step:
    """One call of a client. `code`: what it ends with; another one than 0 needs its reason."""

    words: list
    code: int = 0
    why: str = ""


def without_times(text):
    """Dates, speeds, durations and addresses differ from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", "DATE", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)
    text = re.sub(r".*\r", "", text)
    lines = [re.sub(r"(done|\d+%|\d+ of \d+).*?(in|s|\)).*", "", line) for line in text.splitlines()]
    # awscli deletes in parallel: the order of its lines is chance.
    return sorted(line.rstrip() for line in lines if line.strip() and "B/s" not in line)


def same_through_both(two_ways, folder, steps, client=lambda place: contextlib.nullcontext(run)):
    """Runs the steps made for each endpoint: each ends as expected, and both ways give the same
    output and files. `client(place)` gives what runs the words of a step. Returns {last words: output}."""
    seen = []
    for number, endpoint in enumerate(two_ways[:2]):
        place = folder / f"client{number}"
        place.mkdir()
        (place / "small.txt").write_bytes(SMALL)
        (place / "large.bin").write_bytes(LARGE)
        (place / "odd").mkdir()
        for name in FILE_NAMES:
            (place / "odd" / name).write_text(name)
        (place / "rest.txt").write_bytes(SMALL[:5])  # what a download broke off after
        outputs = {}
        with client(place) as call:
            for step in steps(endpoint):
                assert step.code == 0 or step.why
                code, output = call(step.words, place)
                assert code == step.code, f"{step.words}: {code} instead of {step.code}: {output}"
                outputs[" ".join(map(str, step.words[-2:]))] = without_times(output)
        files = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*.*")
                 if path.is_file() and not path.is_relative_to(place / ".aws")}
        assert files["got-small.txt"] == SMALL and files["got-large.bin"] == LARGE
        seen.append((outputs, files))
    assert seen[1] == seen[0]
    return seen[0]


def aws_steps(endpoint):
    aws = ["/usr/bin/aws", "--endpoint-url", endpoint, "s3"]
    quiet = "--no-progress"
    api = ["/usr/bin/aws", "--endpoint-url", endpoint, "s3api"]
    yield Step([*aws, "mb", "s3://cli-bucket"])
    yield Step([*api, "head-bucket", "--bucket", "cli-bucket"])
    yield Step([*aws, "cp", quiet, "small.txt", "s3://cli-bucket/small.txt"])
    yield Step([*aws, "cp", quiet, "large.bin", "s3://cli-bucket/deep/large.bin"])
    yield Step([*aws, "cp", quiet, "s3://cli-bucket/small.txt", "got-small.txt"])
    yield Step([*aws, "cp", quiet, "s3://cli-bucket/deep/large.bin", "got-large.bin"])
    # The names that files can have in one go.
    yield Step([*aws, "cp", quiet, "--recursive", "odd", "s3://cli-bucket/odd"])
    yield Step([*aws, "cp", quiet, "--recursive", "s3://cli-bucket/odd", "back"])
    for index, name in enumerate(KEY_NAMES):
        yield Step([*aws, "cp", quiet, "small.txt", f"s3://cli-bucket/odd/{name}"])
        yield Step([*aws, "cp", quiet, f"s3://cli-bucket/odd/{name}", f"back{index}.txt"])
    yield Step([*api, "get-object", "--bucket", "cli-bucket", "--key", "small.txt", "--range", "bytes=2-6",
                "part.txt", "--query", "ContentRange"])
    yield Step([*aws, "cp", quiet, "s3://cli-bucket/small.txt", "s3://cli-bucket/copy.txt"])
    yield Step([*aws, "ls", "--recursive", "s3://cli-bucket"])
    yield Step([*aws, "rm", "s3://cli-bucket/copy.txt"])
    yield Step([*aws, "ls", "s3://cli-bucket/copy.txt"], 1, "deleted: nothing to list")
    yield Step([*aws, "rb", "--force", "s3://cli-bucket"])
    yield Step([*api, "head-bucket", "--bucket", "cli-bucket"], 254, "deleted: 404")


def listed(lines):
    """(key, size) of a recursive listing of either client."""
    found = [re.fullmatch(r"DATE\s+(\d+)\s+(?:s3://cmd-bucket/)?(.*)", line) for line in lines]
    assert all(found), lines
    return sorted((row.group(2), int(row.group(1))) for row in found)


def expected_keys():
    odd = [(f"odd/{name}", len(name.encode() if name in FILE_NAMES else SMALL)) for name in ODD_NAMES]
    return sorted([("small.txt", len(SMALL)), ("copy.txt", len(SMALL)), ("deep/large.bin", len(LARGE)), *odd])


@pytest.mark.slow
def test_awscli_sees_the_same(two_ways, folder):
    outputs, files = same_through_both(two_ways, folder, aws_steps, AwsCli)
    assert listed(outputs["--recursive s3://cli-bucket"]) == expected_keys()
    assert files["part.txt"] == SMALL[2:7]
    assert all(files[f"back/{name}"].decode() == name for name in FILE_NAMES)
    assert all(files[f"back{index}.txt"] == SMALL for index in range(len(KEY_NAMES)))
    assert outputs["--query ContentRange"] == [f'"bytes 2-6/{len(SMALL)}"']
    odd = len(ODD_NAMES)
    assert counted(two_ways[2]) == {
        "CreateBucket": 1, "HeadBucket": 2, "DeleteBucket": 1,
        "CreateMultipartUpload": 1, "UploadPart": 2, "CompleteMultipartUpload": 1,  # 16 MiB by 8
        "PutObject": 1 + odd, "CopyObject": 1,
        # Before each single download and each copy the client asks for the size.
        "HeadObject": 2 + len(KEY_NAMES) + 1,
        "GetObject": 1 + 2 + odd + 1,  # the large one in two ranges; one range by itself
        "ListObjectsV2": 4, "DeleteObject": 1 + 2 + odd,
    }


def s3cmd_steps(endpoint):
    host = endpoint.removeprefix("http://")
    s3cmd = ["/usr/bin/s3cmd", "--config=/dev/null", "--access_key=key", "--secret_key=secret", "--no-ssl",
             f"--host={host}", f"--host-bucket={host}", "--no-progress", "--region=us-east-1"]
    yield Step([*s3cmd, "mb", "s3://cmd-bucket"])
    yield Step([*s3cmd, "put", "small.txt", "s3://cmd-bucket/small.txt"])
    yield Step([*s3cmd, "put", "--multipart-chunk-size-mb=5", "large.bin", "s3://cmd-bucket/deep/large.bin"])
    yield Step([*s3cmd, "get", "s3://cmd-bucket/small.txt", "got-small.txt"])
    yield Step([*s3cmd, "get", "s3://cmd-bucket/deep/large.bin", "got-large.bin"])
    for index, name in enumerate(ODD_NAMES):
        source = f"odd/{name}" if name in FILE_NAMES else "small.txt"
        yield Step([*s3cmd, "put", source, f"s3://cmd-bucket/odd/{name}"])
        yield Step([*s3cmd, "get", f"s3://cmd-bucket/odd/{name}", f"back{index}.txt"])
    yield Step([*s3cmd, "get", "--continue", "s3://cmd-bucket/small.txt", "rest.txt"])  # a range
    yield Step([*s3cmd, "cp", "s3://cmd-bucket/small.txt", "s3://cmd-bucket/copy.txt"])
    yield Step([*s3cmd, "ls", "--recursive", "s3://cmd-bucket"])
    yield Step([*s3cmd, "del", "s3://cmd-bucket/copy.txt"])
    yield Step([*s3cmd, "info", "s3://cmd-bucket/copy.txt"], 12, "deleted: not found")
    yield Step([*s3cmd, "rb", "--recursive", "--force", "s3://cmd-bucket"])


@pytest.mark.slow
def test_s3cmd_sees_the_same(two_ways, folder):
    outputs, files = same_through_both(two_ways, folder, s3cmd_steps)
    assert listed(outputs["--recursive s3://cmd-bucket"]) == expected_keys()
    assert files["rest.txt"] == SMALL
    for index, name in enumerate(ODD_NAMES):
        assert files[f"back{index}.txt"] == (name.encode() if name in FILE_NAMES else SMALL), name
    odd = len(ODD_NAMES)
    assert counted(two_ways[2]) == {
        "CreateBucket": 1,
        "DeleteBucket": 2,  # the first finds the bucket full
        "CreateMultipartUpload": 1, "UploadPart": 4, "CompleteMultipartUpload": 1,  # 16 MiB by 5
        "PutObject": 1 + odd, "GetObject": 3 + odd,
        "CopyObject": 1, "GetObjectAcl": 1, "PutObjectAcl": 1,  # a copy keeps its access list
        # Before each download and the copy, by info, and of one key before all are deleted.
        "HeadObject": 3 + odd + 3,
        "ListObjects": 2, "DeleteObject": 1, "DeleteObjects": 1,
    }


@pytest.mark.parametrize("key", ["a b", "ünï"])
def test_both_url_forms_count_the_same_bucket(tools, folder, key):
    server = S3Server(tools, folder, "server")
    sidecar = Sidecar("a", folder, server.address, routes=[{"preset": "s3", "domain": "s3.test"}],
                      quotas=[quota("s3/{bucket}/PutObject", "1000r/s"), quota("s3/{bucket}/GetObject", "0r/s")],
                      settings={"timeouts": {"connect": "2s"}})
    sidecar.start()
    try:
        path = "/" + urllib.parse.quote(key)
        http.request(sidecar.address, "PUT", "/forms", headers={"Host": "s3.test"})
        for host, target in (("forms.s3.test", path), ("s3.test", "/forms" + path)):
            answer = http.request(sidecar.address, "GET", target, headers={"Host": host})
            assert answer.status == 429
            assert answer.headers["x-weir-quota"] == "s3/forms/GetObject"
    finally:
        sidecar.stop()
        server.process.terminate()

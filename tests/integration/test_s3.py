"""S3 clients see the same with weir in between as without, and weir counts the right operations."""

import json
import os
import re
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from harness import http
from harness.paths import ROOT
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.sidecar import Sidecar, quota

OPERATIONS = ["CreateBucket", "HeadBucket", "DeleteBucket", "PutObject", "HeadObject", "GetObject",
              "CopyObject", "DeleteObject", "ListObjectsV2", "CreateMultipartUpload", "UploadPart",
              "CompleteMultipartUpload"]
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
    sidecar = Sidecar("a", folder, servers[1].address, routes=[{"preset": "s3", "domain": "127.0.0.1"}],
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


def counted(sidecar):
    samples = sidecar.metrics()
    return {operation: int(http.metric_sum(samples, "weir_quota_admitted_total",
                                           quota=f"s3/{{bucket}}/{operation}"))
            for operation in OPERATIONS}


def test_boto3_sees_the_same(two_ways, tools, folder):
    direct, through, sidecar = two_ways
    scenario = [tools / "python", HERE / "s3" / "boto3_scenario.py"]
    results = []
    for endpoint in (direct, through):
        code, output = run([*scenario, endpoint], folder)
        assert code == 0, output
        results.append(json.loads(output.splitlines()[-1]))
    assert results[1] == results[0]
    assert results[0]["get large"]["ContentLength"] == 10 * 1024 * 1024
    keys = sum(step.startswith("put ") for step in results[0])
    assert keys == 11
    assert counted(sidecar) == {
        "CreateBucket": 1, "HeadBucket": 1 + 1, "DeleteBucket": 1, "PutObject": keys,
        "HeadObject": keys, "GetObject": 2 * keys + 4, "CopyObject": keys,
        "DeleteObject": 2 * keys + 1, "ListObjectsV2": 3, "CreateMultipartUpload": 1,
        "UploadPart": 2, "CompleteMultipartUpload": 1,
    }


ODD_NAMES = ["a b.txt", "a+b.txt", "a%2Fb.txt", "two//slashes.txt", "ünï.txt"]


def without_times(text):
    """Dates, speeds, durations and addresses differ from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", "DATE", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)
    text = re.sub(r".*\r", "", text)
    lines = [re.sub(r"(done|\d+%|\d+ of \d+).*?(in|s|\)).*", "", line) for line in text.splitlines()]
    # awscli deletes in parallel: the order of its lines is chance.
    return sorted(line.rstrip() for line in lines if line.strip() and "B/s" not in line)


def same_through_both(two_ways, folder, commands):
    """Runs the commands made for each endpoint; codes and outputs must be the same."""
    seen = []
    for number, endpoint in enumerate(two_ways[:2]):
        place = folder / f"client{number}"
        place.mkdir()
        (place / "small.txt").write_text("a small file\n")
        (place / "large.bin").write_bytes(bytes(range(256)) * 64 * 1024)
        seen.append([(arguments[-3:], code, without_times(output))
                     for arguments in commands(endpoint)
                     for code, output in [run(arguments, place)]])
        for name in ("small.txt", "large.bin"):
            assert (place / f"got-{name}").read_bytes() == (place / name).read_bytes()
    plain = [[(" ".join(map(str, words)).replace(two_ways[i], "ENDPOINT"), code, output)
              for words, code, output in results] for i, results in enumerate(seen)]
    assert plain[1] == plain[0]
    return plain[0]


def aws_commands(endpoint):
    aws = ["/usr/bin/aws", "--endpoint-url", endpoint, "s3"]
    quiet = "--no-progress"
    api = ["/usr/bin/aws", "--endpoint-url", endpoint, "s3api"]
    yield [*aws, "mb", "s3://cli-bucket"]
    yield [*aws, "cp", quiet, "small.txt", "s3://cli-bucket/small.txt"]
    yield [*aws, "cp", quiet, "large.bin", "s3://cli-bucket/deep/large.bin"]
    yield [*aws, "cp", quiet, "s3://cli-bucket/small.txt", "got-small.txt"]
    yield [*aws, "cp", quiet, "s3://cli-bucket/deep/large.bin", "got-large.bin"]
    for name in ODD_NAMES:
        yield [*aws, "cp", quiet, "small.txt", f"s3://cli-bucket/odd/{name}"]
        yield [*aws, "cp", quiet, f"s3://cli-bucket/odd/{name}", "-"]
    yield [*api, "get-object", "--bucket", "cli-bucket", "--key", "small.txt", "--range", "bytes=2-6",
           "part.txt", "--query", "ContentRange"]
    yield [*aws, "cp", quiet, "s3://cli-bucket/small.txt", "s3://cli-bucket/copy.txt"]
    yield [*aws, "ls", "--recursive", "s3://cli-bucket"]
    yield [*aws, "rm", "s3://cli-bucket/copy.txt"]
    yield [*aws, "ls", "s3://cli-bucket/copy.txt"]
    yield [*aws, "rb", "--force", "s3://cli-bucket"]


def test_awscli_sees_the_same(two_ways, folder):
    steps = same_through_both(two_ways, folder, aws_commands)
    assert [code for _, code, _ in steps[:5]] == [0] * 5, steps
    counts = counted(two_ways[2])
    assert counts["CreateBucket"] == counts["DeleteBucket"] == counts["CopyObject"] == 1
    assert counts["CreateMultipartUpload"] == counts["CompleteMultipartUpload"] == 1
    assert counts["UploadPart"] == 2  # 16 MiB in parts of 8
    assert counts["PutObject"] == 1 + len(ODD_NAMES)


def s3cmd_commands(endpoint):
    host = endpoint.removeprefix("http://")
    s3cmd = ["/usr/bin/s3cmd", "--config=/dev/null", "--access_key=key", "--secret_key=secret", "--no-ssl",
             f"--host={host}", f"--host-bucket={host}", "--no-progress", "--region=us-east-1"]
    yield [*s3cmd, "mb", "s3://cmd-bucket"]
    yield [*s3cmd, "put", "small.txt", "s3://cmd-bucket/small.txt"]
    yield [*s3cmd, "put", "--multipart-chunk-size-mb=5", "large.bin", "s3://cmd-bucket/deep/large.bin"]
    yield [*s3cmd, "get", "s3://cmd-bucket/small.txt", "got-small.txt"]
    yield [*s3cmd, "get", "s3://cmd-bucket/deep/large.bin", "got-large.bin"]
    for name in ODD_NAMES:
        yield [*s3cmd, "put", "small.txt", f"s3://cmd-bucket/odd/{name}"]
        yield [*s3cmd, "get", "--force", f"s3://cmd-bucket/odd/{name}", "back.txt"]
    yield [*s3cmd, "cp", "s3://cmd-bucket/small.txt", "s3://cmd-bucket/copy.txt"]
    yield [*s3cmd, "ls", "--recursive", "s3://cmd-bucket"]
    yield [*s3cmd, "del", "s3://cmd-bucket/copy.txt"]
    yield [*s3cmd, "rb", "--recursive", "--force", "s3://cmd-bucket"]


def test_s3cmd_sees_the_same(two_ways, folder):
    steps = same_through_both(two_ways, folder, s3cmd_commands)
    assert [code for _, code, _ in steps[:5]] == [0] * 5, steps
    counts = counted(two_ways[2])
    assert counts["CreateMultipartUpload"] == counts["CompleteMultipartUpload"] == 1
    assert counts["UploadPart"] == 4  # 16 MiB in parts of 5
    assert counts["PutObject"] == 1 + len(ODD_NAMES)
    assert counts["CopyObject"] == 1


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

"""What boto3 sees at an S3 endpoint, as JSON: run with and without weir and compare.
boto3_scenario.py ENDPOINT path|virtual; every name below localhost leads to 127.0.0.1."""

import hashlib
import json
import socket
import sys
from urllib.parse import urlsplit

import boto3
from botocore.client import Config
from botocore.exceptions import ClientError

BUCKET = "plain-bucket"
KEYS = ["simple", "with space", "a+b", "a%2Fb", "two//slashes", "up/../here", "dot/./here",
        "ünï/ço∂é-日本", "tail/", "q?mark&x=1#f", "tilde~(star)*'"]
PART = 5 * 1024 * 1024


def outcome(call, **arguments):
    """What a call gave, reduced to what must not depend on the way."""
    try:
        answer = call(**arguments)
    except ClientError as failure:
        return {"error": failure.response["Error"]["Code"],
                "status": failure.response["ResponseMetadata"]["HTTPStatusCode"]}
    kept = {"status": answer["ResponseMetadata"]["HTTPStatusCode"]}
    for name in ("ETag", "ContentLength", "ContentRange", "ContentType", "Metadata", "KeyCount"):
        if name in answer:
            kept[name] = answer[name]
    if "Body" in answer:
        kept["sha256"] = hashlib.sha256(answer["Body"].read()).hexdigest()
    if "Contents" in answer:
        kept["keys"] = [[item["Key"], item["Size"]] for item in answer["Contents"]]
    if "CopyObjectResult" in answer:
        kept["copy"] = answer["CopyObjectResult"]["ETag"]
    return kept


def odd_keys(s3, steps):
    for number, key in enumerate(KEYS):
        body = f"body of {key}".encode() * (number + 1)
        steps[f"put {key}"] = outcome(s3.put_object, Bucket=BUCKET, Key=key, Body=body,
                                      Metadata={"number": str(number)})
        steps[f"head {key}"] = outcome(s3.head_object, Bucket=BUCKET, Key=key)
        steps[f"get {key}"] = outcome(s3.get_object, Bucket=BUCKET, Key=key)
        steps[f"copy {key}"] = outcome(s3.copy_object, Bucket=BUCKET, Key=f"copies/{number}",
                                       CopySource={"Bucket": BUCKET, "Key": key})
    steps["list"] = outcome(s3.list_objects_v2, Bucket=BUCKET)
    steps["list prefix"] = outcome(s3.list_objects_v2, Bucket=BUCKET, Prefix="two//")
    for key in KEYS:
        steps[f"delete {key}"] = outcome(s3.delete_object, Bucket=BUCKET, Key=key)
        steps[f"get deleted {key}"] = outcome(s3.get_object, Bucket=BUCKET, Key=key)


def multipart(s3, steps):
    body = bytes(range(256)) * (PART // 256)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="large")
    parts = []
    for number in (1, 2):
        part = s3.upload_part(Bucket=BUCKET, Key="large", PartNumber=number, Body=body,
                              UploadId=upload["UploadId"])
        parts.append({"PartNumber": number, "ETag": part["ETag"]})
    steps["complete"] = outcome(s3.complete_multipart_upload, Bucket=BUCKET, Key="large",
                                UploadId=upload["UploadId"], MultipartUpload={"Parts": parts})
    steps["get large"] = outcome(s3.get_object, Bucket=BUCKET, Key="large")
    steps["range"] = outcome(s3.get_object, Bucket=BUCKET, Key="large", Range="bytes=1000-2000")
    steps["range end"] = outcome(s3.get_object, Bucket=BUCKET, Key="large", Range="bytes=-100")
    steps["range over"] = outcome(s3.get_object, Bucket=BUCKET, Key="large",
                                  Range=f"bytes={3 * PART}-")
    steps["delete large"] = outcome(s3.delete_object, Bucket=BUCKET, Key="large")


def resolve_below_localhost():
    """As a resolver may do it by itself; not every one does."""
    real = socket.getaddrinfo

    def resolve(host, *arguments, **options):
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if name and name.endswith(".localhost") else host, *arguments, **options)
    socket.getaddrinfo = resolve


def main():
    resolve_below_localhost()
    s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1",
                      aws_access_key_id="key", aws_secret_access_key="secret",
                      config=Config(s3={"addressing_style": sys.argv[2]}, retries={"max_attempts": 1}))
    hosts = set()
    s3.meta.events.register("before-send.s3", lambda request, **_: hosts.add(urlsplit(request.url).hostname))
    steps = {"make": outcome(s3.create_bucket, Bucket=BUCKET),
             "head bucket": outcome(s3.head_bucket, Bucket=BUCKET),
             "head no bucket": outcome(s3.head_bucket, Bucket="no-such-bucket")}
    odd_keys(s3, steps)
    multipart(s3, steps)
    for number in range(len(KEYS)):
        s3.delete_object(Bucket=BUCKET, Key=f"copies/{number}")
    steps["list empty"] = outcome(s3.list_objects_v2, Bucket=BUCKET)
    steps["delete bucket"] = outcome(s3.delete_bucket, Bucket=BUCKET)
    json.dump({"hosts": sorted(hosts), "steps": steps}, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()

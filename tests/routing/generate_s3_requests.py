"""Prints one line for each request that a client of S3 may send, made from botocore's model:
operation, deprecated (0 or 1), form (path or host), bucket (or -), head with | for CR LF.

Every operation comes in both URL forms, once with what the model requires and once with everything
that it allows in the query and the headers, where that does not make it another operation.
"""

import gzip
import json
import sys

DOMAIN = "s3.example.net"
BUCKET = "my.bucket-1"


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def value_of(member, shapes):
    shape = shapes[member["shape"]]
    if shape["type"] in ("integer", "long"):
        return "3"
    if shape["type"] == "boolean":
        return "true"
    return shape.get("enum", ["a%2Fb"])[0].replace(" ", "%20")


def request(name, operation, shapes, form, full, markers):
    shape = shapes[operation["input"]["shape"]] if "input" in operation else {"members": {}}
    required = shape.get("required", [])
    uri, _, query = operation["http"]["requestUri"].partition("?")
    parameters = [p for p in query.split("&") if p]
    headers = []
    for key, member in shape["members"].items():
        if key not in required and not full:
            continue
        location = member.get("location")
        wire = member.get("locationName", key)
        if location == "querystring" and (key in required or wire not in markers):
            parameters.append(f"{wire}={value_of(member, shapes)}")
        elif location == "header" and shapes[member["shape"]]["type"] != "structure":
            headers.append(f"{wire}: {value_of(member, shapes)}")
    bucket = BUCKET if "{Bucket}" in uri else "-"
    host = DOMAIN
    if form == "host" and bucket != "-":
        uri = uri.replace("/{Bucket}", "", 1) or "/"
        host = f"{bucket}.{DOMAIN}"
    target = uri.replace("{Bucket}", BUCKET).replace("{Key+}", "dir//k%20e%2Fy/../x+y")
    if parameters:
        target += "?" + "&".join(parameters)
    lines = [f"{operation['http']['method']} {target} HTTP/1.1", f"Host: {host}"] + headers
    deprecated = 1 if operation.get("deprecated") else 0
    return f"{name} {deprecated} {form} {bucket} {'|'.join(lines)}||"


def main():
    model = load(sys.argv[1])
    shapes = model["shapes"]
    markers = set()
    for operation in model["operations"].values():
        shape = shapes[operation["input"]["shape"]] if "input" in operation else {}
        markers.update(
            shape["members"][key].get("locationName", key) for key in shape.get("required", [])
        )
    for name, operation in sorted(model["operations"].items()):
        for form in ("path", "host"):
            for full in (False, True):
                print(request(name, operation, shapes, form, full, markers))


if __name__ == "__main__":
    main()

"""The JSON Schemas that weir prints: good files fit them, and mistakes that weir finds they find, too."""

import json
import re

import jsonschema
import pytest
import yaml

from test_command_line import ROOT, weir
from test_readme import complete_quota_documents

CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()


class Loader(yaml.SafeLoader):
    """As weir and editors read YAML (1.2): only true and false are truth values, `off` is a word."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rows if tag != "tag:yaml.org,2002:bool"]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def schema_of(kind):
    done = weir("schema", kind)
    assert done.returncode == 0 and done.stderr == ""
    schema = json.loads(done.stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    return schema


def errors(kind, text):
    validator = jsonschema.Draft7Validator(schema_of(kind))
    return [error.message for document in yaml.load_all(text, Loader) for error in validator.iter_errors(document)]


def readme_block(name):
    return re.search(r"```yaml\n# " + name + r"\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)


@pytest.mark.parametrize("kind, text", [
    ("settings", (ROOT / "config" / "weir.yaml").read_text()),
    ("settings", readme_block("weir.yaml")),
    ("settings", "upstream: a:1\nworkers: 2\naccess_log: off\nheaders: {rate_limit: [none], cost: none}\n"
                 "limits: {buffer: 64KiB}\ntimeouts: {connect: 1.5s}\nrouting: {refund: [304, 5xx, 500-504]}\n"
                 "routes: [{preset: s3, weight: {ListObjectsV2: 10, default: 1}, refund: []}, "
                 "{match: {headers: {x-plan:}}, quota: [a], weight: request-bytes, ambiguous_path: allow}]\n"),
    ("quotas", (ROOT / "config" / "quotas.yaml").read_text()),
    ("quotas", readme_block("limits.yaml")),
    ("quotas", "apiVersion: weir/v1\nkind: QuotaSet\nname: a\ngeneration: 3\nquotas:\n"
               "  - {name: a, limits: [{rate: 0}, {rate: 5MiB/10s, of: request-bytes, low: 2s, high: 1GiB}]}\n"
               "  - {name: c, limits: [{concurrency: 64, scope: sidecar}]}\n"
               "  - {name: d, limits: [{window: 5r/5m, from: first}, {window: 5c/w, of: cost}]}\n"
               "  - {name: e, limits: [{window: 100000r/month, from: calendar, timezone: UTC}]}\n"
               "  - {name: b, parent: a, mode: off, enforce: 2.5%, enforce_by: 'header:x', hold: 0s, "
               "headers: [hidden, ietf], refusal: {status: 503, body: ''}}\n"),
    *[pytest.param("quotas", one.values[0], id=one.id) for one in complete_quota_documents()],
])
def test_good_files_fit(kind, text):
    assert errors(kind, text) == []


HEAD = "apiVersion: weir/v1\nkind: QuotaSet\nname: a\nquotas:\n"


@pytest.mark.parametrize("kind, text", [
    ("settings", "upstream: a:1\nlisen: b:1\n"),
    ("settings", "upstream: a:1\nworkers: 65\n"),
    ("settings", "upstream: a:1\naccess_log: some\n"),
    ("settings", "upstream: a:1\ncluster: {nam: x, insecure: true}\n"),
    ("settings", "upstream: a:1\ntimeouts: {connect: 5min}\n"),
    ("settings", "upstream: a:1\nlimits: {buffer: 64k}\n"),
    ("settings", "upstream: a:1\nroutes: [{path: /a, quota: b}]\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{rate: 100/s}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{rate: 100r/s, burst: 5}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{low: 5r}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{rate: 5r/s, concurrency: 5}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{concurrency: 5r}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{window: 5r/h, rate: 5r/s}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{window: 0}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{window: 5r/2month}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{window: 5r/h, from: midnight}]}\n"),
    ("quotas", HEAD + "  - {name: a, limits: [{concurrency: 10000001}]}\n"),
    ("quotas", HEAD + "  - {name: a, mode: shadw}\n"),
    ("quotas", HEAD + "  - {parent: a}\n"),
    ("quotas", HEAD + "  - {name: a, refusal: {status: 200}}\n"),
    ("quotas", HEAD.replace("weir/v1", "weir/v2") + "  []\n"),
])
def test_what_weir_refuses_the_schema_refuses(kind, text, tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    assert weir("validate", *(["--config"] if kind == "settings" else []), path).returncode == 1
    assert errors(kind, text) != []


def properties(schema, prefix=""):
    for key, below in schema.get("properties", {}).items():
        if below.get("type") == "object" and "properties" in below:
            yield from properties(below, f"{prefix}{key}.")
        else:
            yield prefix + key


def rows_of(part):
    return re.findall(r"^\| `([A-Za-z_.]+)` \|", part, re.MULTILINE)


def test_each_documented_key_is_in_the_schema_and_no_other():
    settings, rest = CONFIGURATION.split("## `routes`")
    routes, quotas = rest.split("## Quota documents")
    document, quota = quotas.split("### Keys of a quota")
    quota, limit = quota.split("### Keys of a limit")
    schema = schema_of("settings")
    assert set(properties(schema)) == {*rows_of(settings), "routes"}
    assert set(properties(schema["properties"]["routes"]["items"])) == set(rows_of(routes))
    schema = schema_of("quotas")
    assert set(schema["properties"]) == set(rows_of(document))
    of_quota = schema["properties"]["quotas"]["items"]
    assert set(properties(of_quota)) == set(rows_of(quota))
    assert set(of_quota["properties"]["limits"]["items"]["properties"]) == set(rows_of(limit))


def test_another_kind_is_a_wrong_command_line():
    done = weir("schema", "routes")
    assert done.returncode == 2 and "'routes' must be settings or quotas" in done.stderr

"""The anchors of the chart: members of the same fleet as the sidecars, with disks, which no client reaches."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from rendered import CHART, NAMES, ROOT, VALUES, Pod, render, the
from test_relations import NAMESPACE, host_of, parent_chart, port_of

THREE = ("--set", "anchors.replicas=3")


def anchors_of(documents):
    return [one for one in documents if "anchor" in one["metadata"]["name"]]


def own(values):
    return lambda helm, _: render(helm, values, *THREE, "--namespace", NAMESPACE)


def of_a_parent(alias):
    return lambda helm, folder: render(helm, None, "--namespace", NAMESPACE, "--set",
                                       f"{alias or 'weir'}.anchors.replicas=3",
                                       chart=parent_chart(folder / "storefront", alias))


FLEETS = {name: own(values) for name, values in zip(NAMES, VALUES)}
FLEETS |= {"parent": of_a_parent(None), "parent-alias": of_a_parent("limiter")}


@pytest.fixture(params=FLEETS.values(), ids=FLEETS.keys())
def fleet(helm, tmp_path, request):
    """An anchor's pod and a sidecar's, of the same documents."""
    documents = request.param(helm, tmp_path)
    return Pod(documents, NAMESPACE, "StatefulSet"), Pod(documents, NAMESPACE)


def anchor(helm, *more):
    return Pod(render(helm, None, *THREE, *more), "default", "StatefulSet")


def test_there_are_none_by_default_and_they_change_nothing_else(helm):
    without = render(helm)
    assert anchors_of(without) == []
    with_them = render(helm, None, *THREE)
    made = anchors_of(with_them)
    assert sorted((one["kind"], one["metadata"]["name"]) for one in made) == [
        ("ConfigMap", "shop-weir-anchor-config"), ("PodDisruptionBudget", "shop-weir-anchor"),
        ("StatefulSet", "shop-weir-anchor")]
    # So no sidecar restarts because there are anchors now.
    assert [one for one in with_them if one not in made] == without


def test_anchors_and_sidecars_find_each_other_under_one_name(fleet):
    anchor, sidecar = fleet
    assert anchor.settings["cluster"]["join"] == sidecar.settings["cluster"]["join"]
    name = anchor.controller["spec"]["serviceName"]
    assert f"dns://{name}.{NAMESPACE}.svc:" in anchor.settings["cluster"]["join"][0]
    service = the(anchor.documents, "Service", name)
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"] is True
    assert anchor.of(service) and sidecar.of(service)
    assert anchor.port("gossip") == port_of(anchor.settings["cluster"]["listen"]) == sidecar.port("gossip")


def test_an_anchor_gossips_as_the_sidecars_do_but_for_the_bytes_of_counters(fleet):
    anchor, sidecar = fleet
    theirs = dict(sidecar.settings["cluster"])
    assert anchor.settings["cluster"].keys() == theirs.keys()
    different = {key for key in theirs if theirs[key] != anchor.settings["cluster"][key]}
    assert different == {"counter_bytes"}
    assert anchor.weir["env"] == sidecar.weir["env"]  # POD_IP is what it advertises


def test_an_anchor_has_a_role_and_nothing_of_a_proxy(fleet):
    anchor, sidecar = fleet
    assert anchor.settings["role"] == "anchor"
    assert set(anchor.settings) == {"role", "admin", "status", "snapshot", "cluster", "log"}
    assert anchor.settings["admin"] == sidecar.settings["admin"]
    assert anchor.settings["log"] == sidecar.settings["log"]
    assert {port["name"] for port in anchor.weir["ports"]} == {"status", "gossip"}
    assert [one["name"] for one in anchor.spec["containers"]] == ["weir"]
    assert "initContainers" not in anchor.spec and "lifecycle" not in anchor.weir


def test_no_client_reaches_an_anchor_and_no_controller_takes_it_for_a_sidecar(fleet):
    anchor, sidecar = fleet
    for service in (one for one in anchor.documents if one["kind"] == "Service"):
        assert anchor.of(service) == (service["spec"].get("clusterIP") == "None")
    for pod, other in ((anchor, sidecar), (sidecar, anchor)):
        selector = pod.controller["spec"]["selector"]["matchLabels"]
        assert selector.items() <= pod.labels.items()
        assert not selector.items() <= other.labels.items()


def test_the_snapshot_is_on_the_disk_of_the_anchor(fleet):
    anchor, _ = fleet
    mount, volume, name = anchor.mounted(anchor.settings["snapshot"]["file"])
    assert name and not mount.get("readOnly")
    claim = volume["persistentVolumeClaim"]
    assert claim["accessModes"] == ["ReadWriteOnce"] and claim["resources"]["requests"]["storage"]
    # The group of the disk's files is one that weir is in.
    assert anchor.spec["securityContext"]["fsGroup"] == anchor.weir["securityContext"]["runAsGroup"]


def test_the_key_is_the_sidecars_and_every_volume_is_mounted(fleet):
    anchor, sidecar = fleet
    mount, volume, name = anchor.mounted(anchor.settings["cluster"]["key_file"])
    assert mount["readOnly"] and [item["path"] for item in volume["secret"]["items"]] == [name]
    assert volume == sidecar.mounted(sidecar.settings["cluster"]["key_file"])[1]
    assert sorted(volume["name"] for volume in anchor.volumes) == sorted(
        mount["name"] for mount in anchor.weir["volumeMounts"])


def test_an_anchor_is_as_hardened_and_probed_as_a_sidecar(fleet):
    anchor, sidecar = fleet
    for part in ("image", "imagePullPolicy", "securityContext", "startupProbe", "livenessProbe", "readinessProbe"):
        assert anchor.weir[part] == sidecar.weir[part], part
    assert anchor.spec["automountServiceAccountToken"] is False
    security = anchor.spec["securityContext"]
    assert security["runAsNonRoot"] and security["seccompProfile"] == {"type": "RuntimeDefault"}
    status = anchor.settings["status"]
    assert anchor.port("status") == port_of(status) == anchor.weir["livenessProbe"]["httpGet"]["port"]
    assert host_of(status) == "0.0.0.0"
    ports = [port_of(anchor.settings[name]) for name in ("admin", "status")]
    assert len({*ports, anchor.port("gossip")}) == 3


def test_anchors_end_one_after_another_and_begin_together(fleet):
    anchor, _ = fleet
    spec = anchor.controller["spec"]
    assert spec["replicas"] == 3 and spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "RollingUpdate"} and spec["minReadySeconds"] > 0
    budgets = [one["spec"] for one in anchor.documents if one["kind"] == "PodDisruptionBudget"]
    assert len(budgets) == 1 and budgets[0]["maxUnavailable"] == 1
    assert budgets[0]["selector"] == spec["selector"]


def test_an_anchor_has_time_to_end(helm):
    reference = (ROOT / "docs" / "configuration.md").read_text()
    grace = re.search(r"^\| `drain.grace` \| duration \| (\d+)s ", reference, re.MULTILINE).group(1)
    assert int(grace) < anchor(helm).spec["terminationGracePeriodSeconds"]


def test_what_is_given_for_anchors_is_theirs(helm):
    values = CHART / "ci" / "anchors-values.yaml"
    given = yaml.safe_load(values.read_text())
    documents = render(helm, values, "--set", "anchors.terminationGracePeriodSeconds=77,anchors.counterBytes=100000")
    pod, sidecar = Pod(documents, "default", "StatefulSet"), Pod(documents, "default")
    for name in ("nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName"):
        assert pod.spec[name] == given["anchors"][name]
        assert name not in sidecar.spec
    assert pod.spec["terminationGracePeriodSeconds"] == 77
    assert pod.settings["cluster"]["counter_bytes"] == "100000B"
    assert pod.weir["resources"] == given["anchors"]["resources"]
    labels, annotations = given["anchors"]["podLabels"], given["anchors"]["podAnnotations"]
    assert (labels | given["podLabels"]).items() <= pod.labels.items()
    assert annotations.items() <= pod.annotations.items()
    assert not labels.items() & sidecar.labels.items() and not annotations.items() & sidecar.annotations.items()
    claim = pod.controller["spec"]["volumeClaimTemplates"][0]["spec"]
    assert claim["resources"]["requests"] == {"storage": given["anchors"]["storage"]["size"]}
    assert claim["storageClassName"] == given["anchors"]["storage"]["className"]


@pytest.mark.parametrize("given, name", [("", None), ("-", ""), ("fast.example", "fast.example")])
def test_the_storage_class_is_the_default_one_none_or_the_given(helm, given, name):
    claim = anchor(helm, "--set", f"anchors.storage.className={given}").controller["spec"]["volumeClaimTemplates"][0]
    assert claim["spec"].get("storageClassName") == name
    # Nothing here may change in an upgrade.
    assert not [label for label in claim["metadata"]["labels"] if "version" in label or "chart" in label]


def test_anchors_avoid_each_other_unless_something_else_is_said(helm):
    pod = anchor(helm)
    terms = pod.spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [one["podAffinityTerm"]["topologyKey"] for one in terms] == [
        "kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    for term in terms:
        assert term["podAffinityTerm"]["labelSelector"] == pod.controller["spec"]["selector"]
    assert "affinity" not in anchor(helm, "--set-json", "anchors.affinity={}").spec
    other = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    assert anchor(helm, "--set-json", f"anchors.affinity={json.dumps(other)}").spec["affinity"] == other


def test_no_label_or_annotation_of_a_user_replaces_one_of_ours(helm):
    usual = anchor(helm)
    given = anchor(helm, "--set-json", 'anchors.podLabels={"weir/cluster": "other", "app.kubernetes.io/name": "x"}',
                   "--set-json", 'podAnnotations={"weir/restart-settings": "never"}')
    assert given.labels == usual.labels
    assert given.annotations == usual.annotations


@pytest.mark.parametrize("change, restarts", [
    ("routes[0].quota=other", False), ("quotaSet.quotas[0].name=other", False), ("weir.logLevel=debug", False),
    ("app.port=81", False), ("weir.drainGraceSeconds=9", False), ("cluster.counterBytes=70000", False),
    ("weir.logFormat=text", True), ("weir.ports.gossip=7000", True), ("weir.ports.status=7001", True),
    ("cluster.name=other", True), ("cluster.hold=3s", True), ("anchors.counterBytes=70000", True),
])
def test_only_settings_that_need_a_restart_restart_an_anchor(helm, change, restarts):
    def annotation(*more):
        return anchor(helm, *more).annotations["weir/restart-settings"]

    assert (annotation() != annotation("--set", change)) == restarts


def test_names_leave_room_for_what_kubernetes_adds(helm):
    """Labels have 63 characters at most, and that with the revision has a hash of 10 behind the name."""
    documents = [one for one in yaml.safe_load_all(helm("template", "s" * 53, CHART, *THREE)) if one]
    pod = Pod(documents, "default", "StatefulSet")
    assert len(pod.controller["metadata"]["name"]) + len("-0123456789") <= 63
    assert pod.controller["metadata"]["name"].endswith("-anchor")


def test_values_of_an_older_chart_are_enough(helm, tmp_path):
    """`helm upgrade --reuse-values` has none of the defaults that are new."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    old = {name: None for name in values["anchors"]} | {"replicas": 3}
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"anchors": old}))
    pod = Pod(render(helm, file), "default", "StatefulSet")
    assert pod.mounted(pod.settings["snapshot"]["file"])[1]["persistentVolumeClaim"]["resources"]
    file.write_text(yaml.safe_dump({"anchors": None}))
    assert anchors_of(render(helm, file)) == []


@pytest.mark.parametrize("setting, words", [
    ("anchors.replicas=-1", "/anchors/replicas"),
    ("anchors.replica=3", "replica"),
    ("anchors.storage.size=5GB", "/anchors/storage/size"),
    ("anchors.storage.className=Fast Disk", "/anchors/storage/className"),
    ("anchors.storge.size=1Gi", "storge"),
    ("anchors.counterBytes=1", "/anchors/counterBytes"),
    ("anchors.affinity.podAntiAfinity.x=1", "podAntiAfinity"),
    ("anchors.tolerations=all", "/anchors/tolerations"),
])
def test_a_wrong_value_is_refused_by_name(helm, setting, words):
    assert words in helm("template", "shop", CHART, "--set", setting, ok=False)


@pytest.mark.parametrize("replicas, words, others", [
    (0, [], ["anchor"]),
    (2, ["2 anchors (shop-weir-anchor-0 and on)", "set anchors.replicas to 3"], []),
    (3, ["3 anchors (shop-weir-anchor-0 and on)"], ["set anchors.replicas"]),
])
def test_the_notes_tell_of_anchors_and_of_too_few(helm, tmp_path, replicas, words, others):
    """helm shows notes only after an installation, so a copy of the chart has them in a ConfigMap."""
    chart = shutil.copytree(CHART, tmp_path / "weir")
    notes = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "notes.yaml").write_text(
        '{{- define "notes" }}' + notes + '{{- end }}\nkind: Notes\nmetadata: {name: notes}\n'
        'text: {{ include "notes" . | toJson }}\n')
    text = the(render(helm, None, "--set", f"anchors.replicas={replicas}", chart=chart), "Notes", "notes")["text"]
    assert [word for word in words if word not in text] == []
    assert [word for word in others if word in text] == []


def values_of(tree, path="anchors"):
    """Each value with its path; an empty map or list is a value."""
    if isinstance(tree, dict) and tree:
        for name, below in tree.items():
            yield from values_of(below, f"{path}.{name}")
    else:
        yield path, tree


def test_the_page_lists_every_value_with_its_default(helm):
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    rows = dict(re.findall(r"^\| `(anchors\.[\w.]+)` \| ([^|]*) \|", page, re.MULTILINE))
    anchors = yaml.safe_load((CHART / "values.yaml").read_text())["anchors"]
    resources = anchors.pop("resources")
    listed = {path: yaml.safe_load(value.strip(" `")) for path, value in rows.items()}
    assert listed == {**dict(values_of(anchors)), "anchors.resources": resources}
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())["properties"]["anchors"]["properties"]
    assert set(schema) == {*anchors, "resources"}
    assert set(schema["storage"]["properties"]) == set(anchors["storage"])


def test_weir_accepts_the_settings_of_an_anchor(fleet, tmp_path):
    weir = os.environ.get("WEIR_BIN")
    if not weir:
        pytest.fail("WEIR_BIN must name the weir program")
    pod, _ = fleet
    key = tmp_path / "gossip.key"
    key.write_bytes(os.urandom(32).hex().encode())
    key.chmod(0o600)
    settings = pod.file(pod.config_file)
    for path, here in ((pod.settings["cluster"]["key_file"], key),
                       (pod.settings["snapshot"]["file"], tmp_path / "snapshot")):
        assert path in settings
        settings = settings.replace(path, str(here))
    (tmp_path / "weir.yaml").write_text(settings)
    done = subprocess.run([weir, "validate", "--config", tmp_path / "weir.yaml"],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr

"""What the parts of a rendered pod say of each other, in this chart and in one that depends on it."""

import re
import shutil
import urllib.parse

import pytest
import yaml

from rendered import CHART, NAMES, ROOT, VALUES, Pod, render, the

NAMESPACE = "market"
PARENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector:
    matchLabels: {app: shop}
RECIPE
      containers:
        - name: app
          image: shop:1
          ports: [{containerPort: {{ .Values.weir.app.port }}}]
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports: [{port: 80, targetPort: {{ .Values.weir.weir.ports.traffic }}}]
"""
PARENT_VALUES = {
    "app": {"enabled": False, "port": 3456},
    "weir": {"ports": {"traffic": 18000, "status": 18001, "gossip": 18002}},
    "cluster": {"keySecret": {"name": "shop-key"}},
}


def recipe():
    """What _sidecar.tpl tells other charts to write."""
    text = (CHART / "templates" / "_sidecar.tpl").read_text()
    found = re.search(r"^  template:\n(?:    .*\n)+", text, re.MULTILINE)
    lines = found.group().splitlines()
    lines.insert(lines.index("      labels:") + 1, "        app: shop")
    return "\n".join(lines)


def parent_chart(folder, alias=None):
    """A chart of somebody else's app with this one as its dependency."""
    dependency = {"name": "weir", "version": "0.1.0", "repository": "file://../weir"}
    template = PARENT.replace("RECIPE", recipe())
    if alias:
        dependency["alias"] = alias
        template = template.replace(".Values.weir.", f".Values.{alias}.").replace(" . |", f" .Subcharts.{alias} |")
    (folder / "templates").mkdir(parents=True)
    (folder / "templates" / "shop.yaml").write_text(template)
    (folder / "Chart.yaml").write_text(yaml.safe_dump(
        {"apiVersion": "v2", "name": "storefront", "version": "1.0.0", "dependencies": [dependency]}))
    (folder / "values.yaml").write_text(yaml.safe_dump({alias or "weir": PARENT_VALUES}))
    shutil.copytree(CHART, folder / "charts" / "weir")
    return folder


def own_pod(values):
    return lambda helm, _: render(helm, values, "--namespace", NAMESPACE)


def parents_pod(alias):
    return lambda helm, folder: render(helm, None, "--namespace", NAMESPACE,
                                       chart=parent_chart(folder / "storefront", alias))


PODS = {name: own_pod(values) for name, values in zip(NAMES, VALUES)}
PODS |= {"parent": parents_pod(None), "parent-alias": parents_pod("limiter")}


@pytest.fixture(params=PODS.values(), ids=PODS.keys())
def pod(helm, tmp_path, request):
    return Pod(request.param(helm, tmp_path), NAMESPACE)


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def host_of(address):
    return address.rsplit(":", 1)[0]


def leads_to(service, pod):
    return service["spec"]["selector"].items() <= pod.labels.items()


def test_sidecars_join_through_the_headless_service(pod):
    cluster = pod.settings["cluster"]
    assert len(cluster["join"]) == 1
    seed = urllib.parse.urlsplit(cluster["join"][0])
    assert seed.scheme == "dns"
    name, namespace, kind = seed.hostname.split(".")
    assert (namespace, kind) == (pod.namespace, "svc")
    service = the(pod.documents, "Service", name)
    assert service["spec"]["clusterIP"] == "None" and leads_to(service, pod)
    # A headless name leads to the pods themselves: the port is theirs, whatever the Service says.
    assert seed.port == port_of(cluster["listen"]) == pod.port("gossip")
    assert [(port["port"], port["protocol"]) for port in service["spec"]["ports"]] == [(seed.port, "UDP")]
    assert host_of(cluster["listen"]) == "0.0.0.0"


def test_a_sidecar_tells_its_peers_the_address_of_its_pod(pod):
    reference = (ROOT / "docs" / "configuration.md").read_text()
    fallback = re.search(r"^\| `cluster.advertise` \| address \| (\w+), else found out", reference, re.MULTILINE)
    variables = {variable["name"]: variable for variable in pod.weir["env"]}
    assert variables[fallback.group(1)]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert "advertise" not in pod.settings["cluster"]  # it would have the last word


def test_files_are_where_the_settings_look_for_them(pod):
    assert pod.config_file.endswith("/weir.yaml")
    assert pod.settings["quotas"]
    for path in pod.settings["quotas"]:
        assert yaml.safe_load(pod.file(path))["kind"] == "QuotaSet"
    mount, volume, name = pod.mounted(pod.settings["cluster"]["key_file"])
    assert mount["readOnly"] and [item["path"] for item in volume["secret"]["items"]] == [name]
    if "snapshot" in pod.settings:
        mount, volume, _ = pod.mounted(pod.settings["snapshot"]["file"])
        assert "emptyDir" in volume and not mount.get("readOnly")


def test_every_volume_of_the_sidecar_is_mounted_and_every_mount_has_one(pod):
    volumes = [volume["name"] for volume in pod.spec["volumes"]]
    mounts = [mount["name"] for one in (pod.weir, pod.app) for mount in one.get("volumeMounts", [])]
    assert sorted(volumes) == sorted(mounts)


def test_the_key_is_readable_for_weir_and_for_nobody_else(pod):
    _, volume, _ = pod.mounted(pod.settings["cluster"]["key_file"])
    assert volume["secret"]["defaultMode"] == 0o440
    assert pod.spec["securityContext"]["fsGroup"] == pod.weir["securityContext"]["runAsGroup"]


def test_weir_forwards_to_the_app_beside_it(pod):
    upstream = urllib.parse.urlsplit(pod.settings["upstream"])
    assert (upstream.scheme, upstream.hostname) == ("http", "127.0.0.1")
    assert [port["containerPort"] for port in pod.app["ports"]] == [upstream.port]


def test_clients_reach_weir_and_not_the_app(pod):
    listen = pod.settings["listen"]
    services = [one for one in pod.documents if one["kind"] == "Service" and one["spec"].get("clusterIP") != "None"]
    assert len(services) == 1 and leads_to(services[0], pod)
    assert [port["targetPort"] for port in services[0]["spec"]["ports"]] == [port_of(listen)]
    assert pod.port("traffic") == port_of(listen) and host_of(listen) == "0.0.0.0"


def test_probes_ask_the_status_listener(pod):
    status = pod.settings["status"]
    assert pod.port("status") == port_of(status) and host_of(status) == "0.0.0.0"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert pod.weir[probe]["httpGet"]["port"] == port_of(status)


def test_prestop_drains_through_the_admin_listener_and_within_the_pods_time(pod):
    # It names no address: the command's own default.
    assert pod.weir["lifecycle"]["preStop"]["exec"]["command"] == ["weir", "drain"]
    reference = (ROOT / "docs" / "command-line.md").read_text()
    assert re.search(r"`--admin ADDRESS` \(default `([^`]+)`", reference).group(1) == pod.settings["admin"]
    grace = pod.settings["drain"]["grace"]
    assert grace.endswith("s") and int(grace[:-1]) < pod.spec.get("terminationGracePeriodSeconds", 30)


def test_ports_are_all_different(pod):
    settings = pod.settings
    ports = [port_of(settings[name]) for name in ("listen", "upstream", "admin", "status")]
    ports.append(port_of(settings["cluster"]["listen"]))
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("alias", [None, "limiter"])
def test_a_parent_chart_gets_no_sample_app(helm, tmp_path, alias):
    chart = parent_chart(tmp_path / "storefront", alias)
    assert "0 chart(s) failed" in helm("lint", "--strict", chart)
    documents = render(helm, chart=chart)
    name = alias or "weir"
    assert sorted((one["kind"], one["metadata"]["name"]) for one in documents) == [
        ("ConfigMap", f"shop-{name}-config"), ("Deployment", "shop"), ("Service", "shop"),
        ("Service", f"shop-{name}-peers")]

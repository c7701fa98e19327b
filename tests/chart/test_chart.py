"""The chart, linted and rendered by the real helm; what it renders is read by the real weir. WEIR_BIN names it."""

import os
import pathlib
import re
import subprocess

import pytest
import yaml

from rendered import CHART, NAMES, VALUES, render, the, weir_container


@pytest.mark.parametrize("values", VALUES, ids=NAMES)
def test_lint_is_clean(helm, values):
    arguments = ["lint", "--strict", CHART]
    if values:
        arguments += ["--values", values]
    assert "0 chart(s) failed" in helm(*arguments)


@pytest.mark.parametrize("values", VALUES, ids=NAMES)
def test_services_lead_to_weir_and_to_all_peers(helm, values):
    documents = render(helm, values)
    template = the(documents, "Deployment", "shop-weir")["spec"]["template"]
    labels = template["metadata"]["labels"]
    ports = weir_container(template["spec"])["ports"]
    traffic = next(port["containerPort"] for port in ports if port["name"] == "traffic")
    gossip = next(port for port in ports if port["name"] == "gossip")

    service = the(documents, "Service", "shop-weir")["spec"]
    assert service["selector"].items() <= labels.items()
    assert service["ports"][0]["targetPort"] == traffic

    peers = the(documents, "Service", "shop-weir-peers")["spec"]
    assert peers["clusterIP"] == "None"
    assert peers["publishNotReadyAddresses"] is True
    assert peers["selector"].items() <= labels.items()
    assert peers["ports"][0]["protocol"] == gossip["protocol"] == "UDP"
    assert peers["ports"][0]["targetPort"] == gossip["containerPort"]


@pytest.mark.parametrize("values", VALUES, ids=NAMES)
def test_weir_runs_hardened_and_probed(helm, values):
    spec = the(render(helm, values), "Deployment", "shop-weir")["spec"]["template"]["spec"]
    container = weir_container(spec)
    security = container["securityContext"]
    assert security["runAsNonRoot"] and security["runAsUser"] > 0
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["fsGroup"] == security["runAsUser"]
    status = next(p["containerPort"] for p in container["ports"] if p["name"] == "status")
    for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": status}
    assert container["lifecycle"]["preStop"]["exec"]["command"] == ["weir", "drain"]


def test_native_sidecar_starts_before_the_app_and_the_classic_one_beside_it(helm):
    native = the(render(helm), "Deployment", "shop-weir")["spec"]["template"]["spec"]
    assert [c["name"] for c in native["initContainers"]] == ["weir"]
    assert native["initContainers"][0]["restartPolicy"] == "Always"
    assert [c["name"] for c in native["containers"]] == ["app"]

    classic = the(render(helm, CHART / "ci" / "classic-values.yaml"), "Deployment", "shop-weir")
    spec = classic["spec"]["template"]["spec"]
    assert "initContainers" not in spec
    assert [c["name"] for c in spec["containers"]] == ["app", "weir"]
    assert "restartPolicy" not in spec["containers"][1]


def test_the_key_comes_from_the_named_secret_and_is_never_made_here(helm):
    documents = render(helm, None, "--set", "cluster.keySecret.name=mine")
    assert not [d for d in documents if d["kind"] == "Secret"]
    volumes = the(documents, "Deployment", "shop-weir")["spec"]["template"]["spec"]["volumes"]
    key = next(v for v in volumes if v["name"] == "weir-key")
    assert key["secret"]["secretName"] == "mine"


@pytest.mark.parametrize("given", [None, "[]", '["10.0.0.0/8"]'])
def test_trusted_proxies_are_told_only_if_given(helm, given):
    more = [] if given is None else ["--set-json", f"weir.trustedProxies={given}"]
    text = the(render(helm, None, *more), "ConfigMap", "shop-weir-config")["data"]["weir.yaml"]
    assert yaml.safe_load(text).get("trusted_proxies") == (given and yaml.safe_load(given))


@pytest.mark.parametrize("given", [None, "[]", '["websocket", "spdy/3.1"]'])
def test_upgrades_are_told_only_if_given(helm, given):
    more = [] if given is None else ["--set-json", f"weir.upgrades={given}", "--set", "weir.tunnelIdle=10m"]
    settings = yaml.safe_load(the(render(helm, None, *more), "ConfigMap", "shop-weir-config")["data"]["weir.yaml"])
    assert settings.get("upgrades") == (given and yaml.safe_load(given))
    assert settings.get("timeouts") == (given and {"tunnel_idle": "10m"})


def test_the_snapshot_is_kept_in_an_emptydir_if_wanted(helm):
    def parts(*more):
        documents = render(helm, None, *more)
        spec = the(documents, "Deployment", "shop-weir")["spec"]["template"]["spec"]
        settings = yaml.safe_load(the(documents, "ConfigMap", "shop-weir-config")["data"]["weir.yaml"])
        mounts = {mount["name"]: mount["mountPath"] for mount in weir_container(spec)["volumeMounts"]}
        return settings, mounts, {volume["name"]: volume for volume in spec["volumes"]}

    settings, mounts, volumes = parts()
    assert "snapshot" not in settings and "weir-state" not in {**mounts, **volumes}
    settings, mounts, volumes = parts("--set", "weir.snapshot.enabled=true,weir.snapshot.sizeLimit=1Gi")
    assert pathlib.PurePath(settings["snapshot"]["file"]).parent == pathlib.PurePath(mounts["weir-state"])
    assert volumes["weir-state"]["emptyDir"] == {"sizeLimit": "1Gi"}


@pytest.mark.parametrize("change, restarts", [
    ("routes[0].quota=other", False), ("quotaSet.quotas[0].name=other", False), ("weir.logLevel=debug", False),
    ("app.port=81", False), ("weir.socketBuffer=1MiB", False), ("weir.logFormat=text", True), ("weir.ports.gossip=7000", True),
    ("cluster.name=other", True), ("weir.snapshot.enabled=true", True), ("weir.drainGraceSeconds=9", True),
])
def test_only_settings_that_need_a_restart_change_the_pods_annotation(helm, change, restarts):
    def annotation(*more):
        template = the(render(helm, None, *more), "Deployment", "shop-weir")["spec"]["template"]
        return template["metadata"]["annotations"]["weir/restart-settings"]

    assert (annotation() != annotation("--set", change)) == restarts


def test_the_annotation_covers_every_setting_of_the_file_that_waits_for_a_restart(helm):
    """What docs/configuration.md lists, against the named template and the keys of the rendered file."""
    page = (CHART.parents[1] / "docs" / "configuration.md").read_text()
    listed = page.split("**What needs a restart.**")[1].split("\n\n")[0]
    waits = set(re.findall(r"`([a-z_.]+)`", listed))
    template = (CHART / "templates" / "_sidecar.tpl").read_text().split('define "weir.restartSettings"')[1]
    covered = set(re.findall(r"^([a-z_]+):", template.split("{{- end -}}")[0], re.M))
    settings = yaml.safe_load(the(render(helm, CHART / "ci" / "s3-values.yaml"), "ConfigMap",
                                  "shop-weir-config")["data"]["weir.yaml"])
    keys = set(settings) | {f"log.{key}" for key in settings["log"]}
    assert keys & waits == (covered & keys) | {"log.format"}
    assert covered <= waits


def test_rendering_twice_gives_the_same(helm):
    assert render(helm) == render(helm)


@pytest.mark.parametrize("setting,words", [
    ("weir.ports.traffic=80", "traffic"),
    ("weir.porst.traffic=8000", "porst"),
    ("weir.logLevel=loud", "logLevel"),
    ("weir.socketBuffer=much", "socketBuffer"),
    ("quotaSet.generation=1", "generation"),
    ("cluster.keySecret.name=", "name"),
])
def test_a_wrong_value_is_refused_by_name(helm, setting, words):
    assert words in helm("template", "shop", CHART, "--set", setting, ok=False)


def test_an_old_kubernetes_is_refused(helm):
    output = helm("template", "shop", CHART, "--kube-version", "1.28.0", ok=False)
    assert "1.29" in output


@pytest.mark.parametrize("values", VALUES, ids=NAMES)
def test_weir_accepts_the_rendered_files(helm, values, tmp_path):
    weir = os.environ.get("WEIR_BIN")
    if not weir:
        pytest.fail("WEIR_BIN must name the weir program")
    data = the(render(helm, values), "ConfigMap", "shop-weir-config")["data"]
    key = tmp_path / "gossip.key"
    key.write_bytes(os.urandom(32).hex().encode())
    key.chmod(0o600)
    (tmp_path / "quotas.yaml").write_text(data["quotas.yaml"])
    settings = data["weir.yaml"].replace("/etc/weir/config", str(tmp_path))
    settings = settings.replace("/etc/weir/key/gossip.key", str(key))
    (tmp_path / "weir.yaml").write_text(settings)
    done = subprocess.run([weir, "validate", "--config", tmp_path / "weir.yaml"],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr

"""What helm renders: documents, and a pod in which weir runs, beside an app or alone."""

import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "weir"
VALUES = [None, *sorted((CHART / "ci").glob("*-values.yaml"))]
NAMES = [path.stem if path else "defaults" for path in VALUES]


def render(helm, values=None, *more, chart=CHART):
    arguments = ["template", "shop", chart, *more]
    if values:
        arguments += ["--values", values]
    return [document for document in yaml.safe_load_all(helm(*arguments)) if document]


def the(documents, kind, name):
    found = [d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} documents {kind}/{name}"
    return found[0]


def weir_container(pod):
    both = pod.get("initContainers", []) + pod["containers"]
    found = [container for container in both if container["name"] == "weir"]
    assert len(found) == 1
    return found[0]


class Pod:
    """The pod of the only Deployment among the documents, as the kubelet would put it together; or that of
    the only StatefulSet, with a volume for each of its claims."""

    def __init__(self, documents, namespace, kind="Deployment"):
        self.documents = documents
        self.namespace = namespace
        found = [document for document in documents if document["kind"] == kind]
        assert len(found) == 1
        self.controller = found[0]
        template = self.controller["spec"]["template"]
        self.labels = template["metadata"]["labels"]
        self.annotations = template["metadata"]["annotations"]
        self.spec = template["spec"]
        self.volumes = self.spec["volumes"] + [
            {"name": claim["metadata"]["name"], "persistentVolumeClaim": claim["spec"]}
            for claim in self.controller["spec"].get("volumeClaimTemplates", [])]
        self.weir = weir_container(self.spec)
        self.app = next((one for one in self.spec["containers"] if one["name"] == "app"), None)
        self.config_file = self.weir["args"][self.weir["args"].index("--config") + 1]
        self.settings = yaml.safe_load(self.file(self.config_file))

    def mounted(self, path):
        """The mount of weir's container that holds the path, its volume, and the rest of the path."""
        path = pathlib.PurePosixPath(path)
        found = [mount for mount in self.weir["volumeMounts"] if path.is_relative_to(mount["mountPath"])]
        assert len(found) == 1, f"{len(found)} mounts hold {path}"
        volumes = [volume for volume in self.volumes if volume["name"] == found[0]["name"]]
        assert len(volumes) == 1, f"{len(volumes)} volumes {found[0]['name']}"
        return found[0], volumes[0], str(path.relative_to(found[0]["mountPath"]))

    def file(self, path):
        """The text of a file that comes from a ConfigMap among the documents."""
        _, volume, name = self.mounted(path)
        return the(self.documents, "ConfigMap", volume["configMap"]["name"])["data"][name]

    def of(self, service):
        """Whether the Service leads to the pod."""
        return service["spec"]["selector"].items() <= self.labels.items()

    def port(self, name):
        return next(port["containerPort"] for port in self.weir["ports"] if port["name"] == name)

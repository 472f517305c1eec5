"""Charts are tested through Helm: values in, manifests out, no cluster."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from wire.process import go_yaml

ROOT = Path(__file__).resolve().parents[3]
HELM = Path(sys.executable).with_name("helm")

IMAGE = {"repository": "registry.example.com/loadline-autoscaler"}
"""Required by both charts."""

"""The CRDs of the scaler chart have 100 KB."""

UNVERIFIED = {"insecureSkipVerify": True}
"""`serviceMonitor.tlsConfig` where Prometheus has nothing to verify a program with."""

Manifest = dict[str, Any]


class Refused(Exception):
    """Helm rejected the values, with this message."""


class Rendered:
    """The manifests rendered from one set of values."""

    def __init__(self, text: str) -> None:
        self.text = text
        everything: list[Manifest] = [m for m in go_yaml.load_all(text) if m]
        self.manifests = [m for m in everything if not _is_hook(m)]
        self.hooks = [m for m in everything if _is_hook(m)]

    def of(self, kind: str) -> list[Manifest]:
        return [m for m in self.manifests if m["kind"] == kind]

    def one(self, kind: str, name_ending: str = "") -> Manifest:
        found = [m for m in self.of(kind) if m["metadata"]["name"].endswith(name_ending)]
        assert len(found) == 1, f"{len(found)} of kind {kind}"
        return found[0]

    def hook(self, kind: str) -> Manifest:
        """The only hook of that kind."""
        (found,) = [m for m in self.hooks if m["kind"] == kind]
        return found

    @property
    def pod(self) -> Manifest:
        spec: Manifest = self.one("Deployment")["spec"]["template"]["spec"]
        return spec

    @property
    def container(self) -> Manifest:
        container: Manifest = self.pod["containers"][0]
        return container

    @property
    def arguments(self) -> list[str]:
        return list(self.container["args"])

    def rules(self) -> Iterator[Manifest]:
        """All RBAC rules."""
        for manifest in self.of("ClusterRole") + self.of("Role"):
            yield from manifest["rules"]


def _is_hook(manifest: Manifest) -> bool:
    """Whether Helm creates it for an upgrade or a test, and deletes it afterwards."""
    return "helm.sh/hook" in manifest["metadata"].get("annotations", {})


class Chart:
    """A chart in this repository, rendered with Helm."""

    def __init__(self, name: str) -> None:
        self.path = ROOT / "charts" / name

    @property
    def values(self) -> Manifest:
        read: Manifest = go_yaml.load((self.path / "values.yaml").read_text())
        return read

    def render(
        self,
        values: Manifest | None = None,
        *,
        release: str = "r",
        kubernetes: str = "v1.36.0",
        namespace: str = "metrics",
    ) -> Rendered:
        """Render for a version of Kubernetes with these values, and with an image if they set none.

        Raises:
            Refused: the schema or a template rejected them.
        """
        text = yaml.safe_dump({"image": IMAGE, **(values or {})})
        return Rendered(helm_template(release, self.path, text, kubernetes, namespace))


@cache
def helm_template(
    release: str, chart: Path, values: str, kubernetes: str, namespace: str = "metrics"
) -> str:
    """The output of Helm, cached by values."""
    flags = ("--namespace", namespace, "--kube-version", kubernetes, "--values", "-")
    done = subprocess.run(
        [HELM, "template", release, chart, *flags],
        input=values,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def permissions(role: Manifest) -> set[tuple[str, str, str]]:
    """All (group, resource, verb) of a role."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def granted(group: str, resources: str, verbs: str) -> set[tuple[str, str, str]]:
    """The permissions for each of the resources and verbs, which are separated by spaces."""
    return {(group, resource, verb) for resource in resources.split() for verb in verbs.split()}


@pytest.fixture(scope="session")
def adapter() -> Chart:
    return Chart("adapter")


@pytest.fixture(scope="session")
def scaler() -> Chart:
    return Chart("scaler")


@pytest.fixture(scope="session")
def refused() -> type[Refused]:
    return Refused


@pytest.fixture(params=["adapter", "scaler"])
def chart(request: pytest.FixtureRequest) -> Chart:
    """Each chart in turn."""
    return Chart(request.param)

"""Builds the oracle: the controller's own sources, copied from the module cache, with a driver beside them.

The package's functions are not exported, so the driver has to be part of the package; nothing of
upstream is kept in this repository. The driver is a test binary because only tests may fake time.

There is one oracle for each minor version of Kubernetes. What the driver does differently in some of them is in files
with a build tag, such as `since_1_37`.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

from testbed import toolchain
from testbed.build import go_environment
from testbed.cache import locked, root
from testbed.oracle.scaler.versions import OLDEST, modules_of

HERE = Path(__file__).parent
_MODULE = "k8s.io/kubernetes"
_PACKAGE = "pkg/controller/podautoscaler"

# For the tape: what is recorded is called AsShipped, and the tape's function takes its name.
_TAPED = (
    "reconcileAutoscaler", "GetResourceReplicas", "GetRawResourceReplicas", "GetMetricReplicas",
    "GetObjectMetricReplicas", "GetObjectPerPodMetricReplicas", "GetExternalMetricReplicas",
    "GetExternalPerPodMetricReplicas", "convertDesiredReplicasWithBehaviorRate",
    "stabilizeRecommendationWithBehaviors", "convertDesiredReplicasWithRules",
)  # fmt: skip
_TAPED_CLIENT = re.compile(r"\bmetrics(?:client)?\.NewRESTMetricsClient\(")
_UNUSED_THEN = re.compile(
    r'^\t("k8s\.io/kubernetes/pkg/controller/podautoscaler/metrics")$', re.MULTILINE
)
# Upstream's tests double this with their own number; the shipped one is what we compare with.
_TEST_ONLY_LIMIT = re.compile(r"^\tscaleUpLimitFactor = 8$", re.MULTILINE)


def build(minor: int, *, with_tape: bool = False) -> Path:
    """The oracle's binary of Kubernetes 1.`minor`, built again; Go's build cache makes that quick. Raises CalledProcessError.

    `with_tape` makes another one, that runs upstream's own tests and writes down what they ask.
    """
    name = f"{'tape' if with_tape else 'oracle'}-1.{minor}"
    place = root() / "oracle" / f"scaler-{name}"
    place.mkdir(parents=True, exist_ok=True)
    modules = modules_of(minor)
    go = toolchain.choose(toolchain.required_by(modules))
    toolchain.prepare(go, print)
    environment = go_environment(place) | {"GOFLAGS": "-mod=mod -trimpath -buildvcs=false"}
    with locked(f"oracle-scaler-{name}", on_wait=print):
        upstream = _upstream(go.command, modules, environment)
        _lay_out(place, upstream, modules, with_tape=with_tape)
        binary = place / name
        tags = ",".join(f"since_1_{each}" for each in range(OLDEST + 1, minor + 1))
        command: list[str | Path] = ["nice", go.command, "test", "-c", "-tags", tags, "-o", binary]
        subprocess.run([*command, "./podautoscaler"], cwd=place, env=environment, check=True)
    return binary


def _upstream(go: Path, modules: Path, environment: dict[str, str]) -> Path:
    """Where Go keeps the pinned sources; fetched when they are not there yet."""
    command: list[str | Path] = [go, "mod", "download", "-json", _MODULE]
    said = subprocess.run(command, cwd=modules, env=environment, check=True, capture_output=True)
    return Path(json.loads(said.stdout)["Dir"]) / _PACKAGE


def _lay_out(place: Path, upstream: Path, modules: Path, *, with_tape: bool) -> None:
    package = place / "podautoscaler"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir()
    for source in sorted(upstream.glob("*.go")):
        if with_tape:
            (package / source.name).write_text(_taped(source.read_text()))
        elif not source.name.endswith("_test.go"):
            shutil.copyfile(source, package / source.name)
    drivers = [*HERE.glob("*_test.go"), *(HERE.glob("tables/*_test.go") if with_tape else ())]
    for driver in sorted(drivers):
        shutil.copyfile(driver, package / driver.name)
    lines = (modules / "go.mod").read_text().splitlines()
    lines[0] = "module loadline.io/testbed/oracle/scaler"
    (place / "go.mod").write_text("\n".join(lines) + "\n")
    shutil.copyfile(modules / "go.sum", place / "go.sum")


def _taped(source: str) -> str:
    for name in _TAPED:
        shipped = (
            "reconcileAsShipped"
            if name == "reconcileAutoscaler"
            else f"{name[0].lower()}{name[1:]}AsShipped"
        )
        declaration = re.compile(rf"^(func (?:\([^)]*\) )?){name}\(", re.MULTILINE)
        source = declaration.sub(rf"\g<1>{shipped}(", source)
    source = _TAPED_CLIENT.sub("tapedMetricsClient(", source)
    source = _UNUSED_THEN.sub(r"\t_ \1", source)
    return _TEST_ONLY_LIMIT.sub("", source)

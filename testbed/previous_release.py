"""The previous release: its wheel and its charts, built from its commit, and kept in the cache.

Tests upgrade from it. Its programs run with their own code, and with the dependencies of this environment.
After a release, `VERSION` and `COMMIT` name that one.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Literal

from testbed.cache import kept
from testbed.helm import HELM
from testbed.programs import REPOSITORY

VERSION = "v0.1.0"
COMMIT = "a9179abaaa5d689931283f8bbced991cf9b905cb"
"""The commit of the tag `VERSION`, which a clone may lack. Its hash determines every file that the release is built from."""


class ReleaseMissing(Exception):
    """The previous release could not be built; the message says what to do."""


def wheel() -> Path:
    """The wheel of both programs."""
    return _kept(f"loadline_autoscaler-{VERSION.removeprefix('v')}-py3-none-any.whl", _built_wheel)


def chart(name: Literal["adapter", "scaler"]) -> Path:
    """A packaged chart."""

    def packaged(source: Path, into: Path) -> None:
        _run([HELM, "package", source / "charts" / name, "--destination", into])

    return _kept(f"loadline-{name}-{VERSION.removeprefix('v')}.tgz", packaged)


def install_programs(directory: Path) -> Path:
    """Unpack the wheel into a directory from which `python -m scaler` runs the release; returns the directory."""
    _run([*_PIP, "install", "--no-compile", "--target", directory, wheel()])
    return directory


def source(commit: str = COMMIT, repository: Path = REPOSITORY) -> bytes:
    """The files of a commit, as a tar archive. Raises ReleaseMissing."""
    command = ["git", "-C", str(repository), "archive", "--format=tar", commit]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise ReleaseMissing(f"git is not installed, which reads {VERSION} from history") from None
    if done.returncode:
        raise ReleaseMissing(
            f"commit {commit} ({VERSION}) is not in {repository}: {done.stderr.decode().strip()}\n"
            "The previous release is built from it. Fetch the whole history (git fetch --unshallow in a shallow clone, "
            f"fetch-depth: 0 in a workflow), or only this commit (git fetch --depth=1 origin {commit})."
        )
    return done.stdout


_PIP = (sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check")


def _kept(file: str, build: Callable[[Path, Path], None]) -> Path:
    """Build it from the source into an empty directory, unless the cache has it."""

    def built() -> bytes:
        with tempfile.TemporaryDirectory(prefix="loadline-release-") as temporary:
            unpacked, into = Path(temporary) / "source", Path(temporary) / "built"
            with tarfile.open(fileobj=BytesIO(source())) as archive:
                # Python 3.11 has the argument `filter` from 3.11.4 on. The archive is of this repository.
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(unpacked)  # noqa: S202
            build(unpacked, into)
            return (into / file).read_bytes()

    return kept("previous-release", f"releases/{COMMIT[:16]}/{file}", built)


def _built_wheel(source: Path, into: Path) -> None:
    _run([*_PIP, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", into, source])


def _run(command: Sequence[str | Path]) -> None:
    # A wheel is installed without its dependencies, and built with the setuptools of this environment: nothing is downloaded.
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        shown = " ".join(map(str, command))
        raise ReleaseMissing(f"{VERSION} could not be built: {shown}\n{done.stderr.strip()}")

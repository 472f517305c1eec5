"""Runs the steps of the Dockerfile in root directories, one for each stage, without a network."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from testbed import cache
from testbed.image import base
from testbed.image.dockerfile import Copy, Instruction, copied, stages, variables
from testbed.image.mounts import KERNEL, Mount, mounted
from testbed.programs import REPOSITORY

WHEELS = "/run/wheels"
"""Where the steps find the wheels; pip accepts only those whose hash is pinned."""
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": WHEELS}
WITHOUT_EFFECT = ("ARG", "LABEL")


class BuildFailed(Exception):
    """A step failed, or is of a kind that is not known here; the message has it and its output."""


class Image(msgspec.Struct, frozen=True):
    """What a container starts with."""

    root: Path
    environment: Mapping[str, str]
    user: str = "0:0"
    entrypoint: tuple[str, ...] = ()
    directory: str = "/"


def build(into: Path, *, context: Path = REPOSITORY) -> Image:
    """Build the image of `context`'s Dockerfile into an empty directory. Raises BuildFailed."""
    wheels = _wheels(context)
    built: dict[str, Image] = {}
    for stage in stages((context / "Dockerfile").read_text()):
        root = into / (stage.name or "image")
        root.mkdir()
        base.make(root)
        image = Image(root, base.ENVIRONMENT)
        for instruction in stage.instructions:
            image = _after(instruction, image, context=context, wheels=wheels, stages=built)
        built[stage.name] = image
    return image


def _after(
    instruction: Instruction,
    image: Image,
    *,
    context: Path,
    wheels: Path,
    stages: Mapping[str, Image],
) -> Image:
    replace = msgspec.structs.replace
    match instruction.word:
        case "RUN":
            _run(instruction.arguments, image, wheels)
        case "COPY":
            copy = copied(instruction)
            _copy(copy, stages[copy.stage].root if copy.stage else context, image)
        case "ENV":
            more = variables(instruction, image.environment)
            return replace(image, environment={**image.environment, **more})
        case "WORKDIR":
            (image.root / instruction.arguments.removeprefix("/")).mkdir(parents=True)
            return replace(image, directory=instruction.arguments)
        case "USER":
            return replace(image, user=instruction.arguments)
        case "ENTRYPOINT":
            return replace(image, entrypoint=tuple(json.loads(instruction.arguments)))
        case word if word not in WITHOUT_EFFECT:
            raise BuildFailed(f"add {word} to {__file__}: the Dockerfile uses it")
    return image


def _run(command: str, image: Image, wheels: Path) -> None:
    isolated = mounted(image.root, [*KERNEL, Mount(WHEELS, wheels)], network=False)
    inside = ["unshare", f"--root={image.root}", f"--wd={image.directory}", "/bin/sh", "-c"]
    done = subprocess.run(
        [*isolated, *inside, command],
        env={**image.environment, **OFFLINE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildFailed(f"RUN {command}\n{done.stdout}")


def _copy(copy: Copy, source: Path, image: Image) -> None:
    destination = image.root / Path(image.directory, copy.destination).relative_to("/")
    for name in copy.sources:
        path = _followed(source, name)
        if path.is_dir():
            shutil.copytree(
                path, destination, symlinks=True, ignore=_ignored(copy), dirs_exist_ok=True
            )
        else:
            shutil.copy2(path, destination / path.name if copy.into_directory else destination)


def _followed(root: Path, name: str) -> Path:
    """The source of a COPY; where it is a link, what it links to in that root."""
    path = root / name.removeprefix("/")
    return _followed(root, str(path.readlink())) if path.is_symlink() else path


def _ignored(copy: Copy) -> Callable[[str, list[str]], Iterable[str]] | None:
    """The patterns of .dockerignore for every directory, which apply to the build context only."""
    patterns = re.findall(r"^\*\*/(.*)$", (REPOSITORY / ".dockerignore").read_text(), re.MULTILINE)
    return None if copy.stage else shutil.ignore_patterns(*patterns)


def _wheels(context: Path) -> Path:
    """The wheels that the pinned files name, downloaded once."""
    runtime, everything = (context / f"constraints{name}.txt" for name in ("-runtime", ""))
    (setuptools,) = re.findall(r"^setuptools==\S+", everything.read_text(), re.MULTILINE)
    pinned = f"{sys.version}{setuptools}{runtime.read_text()}"
    directory = cache.root() / "wheels" / hashlib.sha256(pinned.encode()).hexdigest()[:16]
    with cache.locked("wheels", on_wait=print):
        if not directory.exists():
            unfinished = directory.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)  # left by a killed download
            _download(unfinished, "-r", str(runtime))
            _download(unfinished, setuptools)
            unfinished.rename(directory)
    return directory


def _download(into: Path, *wanted: str) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--dest", into, *wanted], check=True)

"""Commands in a mount namespace of their own, in which directories are mounted into a root directory."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec


class Mount(msgspec.Struct, frozen=True):
    """A directory of this machine at an absolute path of a container."""

    inside: str
    outside: Path
    read_only: bool = False


KERNEL = (Mount("/dev", Path("/dev")), Mount("/proc", Path("/proc")))


def mounted(
    root: Path, mounts: Sequence[Mount], *, read_only_root: bool = False, network: bool = True
) -> list[str]:
    """What a command begins with so that the mounts are below `root` for it, and nowhere else."""
    for each in mounts:
        _target(root, each).mkdir(parents=True, exist_ok=True)
    lines = [
        "set -e",
        'mount --bind "$0" "$0"',
        *(f"mount --rbind '{each.outside}' '{_target(root, each)}'" for each in mounts),
        *(_read_only(f"'{_target(root, each)}'") for each in mounts if each.read_only),
        *([_read_only('"$0"')] if read_only_root else []),
        'exec "$@"',
    ]
    namespaces = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    namespaces += ["--mount"] if network else ["--mount", "--net"]
    return ["unshare", *namespaces, "sh", "-c", "\n".join(lines), str(root)]


def _target(root: Path, mount: Mount) -> Path:
    return root / mount.inside.removeprefix("/")


def _read_only(directory: str) -> str:
    return f"mount -o remount,bind,ro {directory}"

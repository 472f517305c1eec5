"""The minor versions of Kubernetes that have an oracle, and where their sources are pinned."""

from pathlib import Path

from scaler.api import upstream

MINORS = tuple(each.minor for each in upstream.UPSTREAMS)
"""Oldest first: 36 is Kubernetes 1.36."""
OLDEST, NEWEST = MINORS[0], MINORS[-1]

_MODULES = Path(__file__).parents[2] / "modules"


def modules_of(minor: int) -> Path:
    """The Go module that pins this version; the one of the newest has no suffix."""
    return _MODULES / ("kubernetes" if minor == NEWEST else f"kubernetes_1_{minor}")

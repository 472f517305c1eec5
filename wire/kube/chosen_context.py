"""Which context of the kubeconfig is used, and which cluster and user in place of its own: kubectl's three flags."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from wire.process.command_line.parsing import FlagSet


class ChosenContext(msgspec.Struct, frozen=True, kw_only=True):
    """Names in the kubeconfig: None for the current context, and for the cluster and the user of the context."""

    name: str | None = None
    cluster: str | None = None
    user: str | None = None

    def flags(self) -> list[str]:
        """The command line that chooses the same."""
        given = (("context", self.name), ("cluster", self.cluster), ("user", self.user))
        return [f"--{flag}={value}" for flag, value in given if value is not None]


CURRENT: Final = ChosenContext()
"""The current context of the kubeconfig, as it is."""


def add_context_flags(parser: FlagSet) -> None:
    """`--context`, `--cluster` and `--user`."""
    parser.add_context()
    parser.add_argument(
        "--cluster", metavar="NAME", help="cluster of the kubeconfig (default: that of the context)"
    )
    parser.add_argument(
        "--user", metavar="NAME", help="user of the kubeconfig (default: that of the context)"
    )


def context_of(given: argparse.Namespace) -> ChosenContext:
    """What these flags say; an empty value means that the flag is not set."""
    return ChosenContext(
        name=given.context or None, cluster=given.cluster or None, user=given.user or None
    )


def chosen_context(config: Mapping[str, Any], chosen: ChosenContext) -> dict[str, Any]:
    """The context: that of the kubeconfig, with the cluster and the user that were chosen. The cluster and the user exist.

    `config` is a kubeconfig as one document. A chosen cluster and user need no context, as in kubectl.
    Raises ValueError for a name that the kubeconfig does not have, and if there is no context.
    """
    replaced = {
        kind: name
        for kind, name in (("cluster", chosen.cluster), ("user", chosen.user))
        if name is not None
    }
    name = chosen.name or config.get("current-context")
    found = named_context(config, chosen)
    if found is None and name and not replaced:
        raise ValueError(_missing(config, "context", name))
    context = {**(found or {}), **replaced}
    if not context.get("cluster"):
        raise ValueError(
            "it has no current-context" if not name else f"context {name!r} has no cluster"
        )
    for kind in ("cluster", "user"):
        named = context.get(kind)
        if named and entry(config, kind, named) is None:
            raise ValueError(_missing(config, kind, named))
    return context


def named_context(config: Mapping[str, Any], chosen: ChosenContext) -> dict[str, Any] | None:
    """The context that was chosen, or else the current one, as it is in the kubeconfig; None if that does not exist.

    Raises ValueError for a chosen one that the kubeconfig does not have.
    """
    found = entry(config, "context", chosen.name or config.get("current-context"))
    if found is None and chosen.name:
        raise ValueError(_missing(config, "context", chosen.name))
    return found


def entry(config: Mapping[str, Any], kind: str, name: object) -> dict[str, Any] | None:
    """The cluster, the user or the context with a name."""
    entries: list[dict[str, Any]] = config.get(f"{kind}s") or []
    return next((each.get(kind) or {} for each in entries if each.get("name") == name), None)


def _missing(config: Mapping[str, Any], kind: str, name: object) -> str:
    known = ", ".join(str(each.get("name")) for each in config.get(f"{kind}s") or ())
    return (
        f"there is no {kind} {name!r}: it has {known}" if known else f"there is no {kind} {name!r}"
    )

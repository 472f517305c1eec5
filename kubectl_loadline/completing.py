"""`kubectl_complete-loadline`: what the shell completes after `kubectl loadline`, by kubectl 1.26 and later.

kubectl runs it with the words after the plugin's name, the last one being unfinished, and reads a candidate per line,
then a directive of cobra (https://pkg.go.dev/github.com/spf13/cobra#ShellCompDirective).
"""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from kubectl_loadline.cluster.connecting import connected
from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.program import COMMANDS, SHELLS
from kubectl_loadline.status.listing import listed
from kubectl_loadline.status.row import Row
from wire.api.status import StatusError, Unavailable
from wire.kube.chosen_context import ChosenContext
from wire.kube.cluster_access import ConnectionConfigError
from wire.process.command_line.parsing import FILE, FlagParser, boolean
from wire.process.command_line.program import COMPLETION
from wire.process.event_loop import run

FILES: Final = 0
"""ShellCompDirectiveDefault: the shell completes files where there are no candidates."""
NO_FILES: Final = 4
"""ShellCompDirectiveNoFileComp."""
NAMES_SECONDS: Final = 3.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the candidates and the directive; without an answer of the cluster, no candidates."""
    words = list(sys.argv[1:] if arguments is None else arguments) or [""]
    parser = _parser(words[0]) if len(words) > 1 else None
    found, directive = candidates(words, parser)
    if parser is not None and found is None:
        found = [each for each in names(_rows(words)) if each.startswith(words[-1])]
    print("\n".join([*(found or ()), f":{directive}"]))
    return 0


def candidates(words: Sequence[str], parser: FlagParser | None) -> tuple[list[str] | None, int]:
    """Commands, flags and their values; None where the name of an autoscaler is expected."""
    *before, last = words
    if not before:
        commands = [(each.name, each.summary) for each in COMMANDS]
        commands.append((COMPLETION, "Print a shell completion script"))
        return [f"{name}\t{text}" for name, text in commands if name.startswith(last)], NO_FILES
    if before == [COMPLETION]:
        return [shell for shell in SHELLS if shell.startswith(last)], NO_FILES
    if parser is None:
        return [], NO_FILES
    if last.startswith("-"):
        return [each for each in _flags(parser) if each.startswith(last)], NO_FILES
    awaited = _awaited(parser, before[-1])
    if awaited is None:
        return _positional(parser)
    if awaited.choices:
        return [each for each in map(str, awaited.choices) if each.startswith(last)], NO_FILES
    return [], FILES if awaited.metavar == FILE else NO_FILES


def names(found: Sequence[Row]) -> list[str]:
    """As they are written: with the kind only where a name belongs to both kinds."""
    plain = [row.name for row in found]
    return [f"{row.kind}/{row.name}" if plain.count(row.name) > 1 else row.name for row in found]


def cluster_of_words(words: Sequence[str]) -> Cluster:
    """The namespace, context and kubeconfig of an unfinished command line, with `=` or as the next word."""

    def value(*flags: str) -> str:
        spaced = [word for flag, word in pairwise(words) if flag in flags]
        joined = [
            word.partition("=")[2]
            for word in words
            if word.startswith(tuple(f"{each}=" for each in flags))
        ]
        return [*joined, *spaced, ""][0]

    return Cluster(
        namespace=value("-n", "--namespace"),
        context=ChosenContext(
            name=value("--context") or None,
            cluster=value("--cluster") or None,
            user=value("--user") or None,
        ),
        kubeconfig=Path(value("--kubeconfig")) if value("--kubeconfig") else None,
    )


def _parser(command: str) -> FlagParser | None:
    return next((each.load().parser() for each in COMMANDS if each.name == command), None)


def _flags(parser: FlagParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of them
        for name in action.option_strings:
            if name.startswith("--") and action.help is not argparse.SUPPRESS:
                yield f"{name}\t{' '.join(str(action.help).split())}"


def _awaited(parser: FlagParser, word: str) -> argparse.Action | None:
    """The flag whose value comes next."""
    action = parser._option_string_actions.get(word)  # noqa: SLF001
    if action is None or action.nargs == 0 or action.type is boolean:
        return None
    return action


def _positional(parser: FlagParser) -> tuple[list[str] | None, int]:
    metavars = [each.metavar for each in parser._actions if not each.option_strings]  # noqa: SLF001
    if "NAME" in metavars:
        return None, NO_FILES
    return [], FILES if FILE in metavars else NO_FILES


def _rows(words: Sequence[str]) -> tuple[Row, ...]:
    """The autoscalers of the namespace of the command line."""
    cluster = cluster_of_words(words)

    async def rows() -> tuple[Row, ...]:
        async with asyncio.timeout(NAMES_SECONDS), connected(cluster) as session:
            return (await listed(session.client, session.namespace)).rows

    with contextlib.suppress(StatusError, Unavailable, ConnectionConfigError, TimeoutError):
        return run(rows())
    return ()


if __name__ == "__main__":
    sys.exit(main())

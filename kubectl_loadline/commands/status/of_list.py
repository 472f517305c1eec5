"""`status` of every autoscaler, of a selection, or of one that is watched."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from kubectl_loadline.cluster.autoscaler_name import AutoscalerName
from kubectl_loadline.cluster.connecting import connected, existing, watching
from kubectl_loadline.cluster.flags import cluster_of
from kubectl_loadline.commands.status.row_output import RowOutput
from kubectl_loadline.status.listing import listed
from kubectl_loadline.status.row import Row, row_of
from kubectl_loadline.status.watching import Scope, changed_rows
from kubectl_loadline.terminal.exit_codes import FAILED, FOUND, OK
from kubectl_loadline.terminal.screen import print_note
from scaler.api.autoscaler import Autoscaler
from wire.api import kube_json
from wire.kube.requests import Watcher
from wire.process.command_line.messages import print_error

SORT_FIELDS: Final = (
    "name", "namespace", "kind", "target", "min", "max", "current", "desired", "mode", "limited_by", "reason",
)  # fmt: skip


async def show_list(given: Namespace) -> int:
    """Print all that are selected, and with `--watch` those that change."""
    async with connected(cluster_of(given)) as session:
        namespace = "" if given.all_namespaces else session.namespace
        listing = await listed(session.client, namespace, label_selector=given.selector)
        rows = [each for each in listing.rows if each.has_problem or not given.problems]
        if listing.refused:
            print_note("status", f"a kind is missing from the list: {listing.refused}")
        if not rows:
            print_error(_none_found(namespace, given))
        output = RowOutput(given)
        output.print_list(sorted_by(given.sort_by, rows))
        if given.watch:
            scope = Scope(kinds=listing.kinds, namespace=namespace, label_selector=given.selector)
            async with watching(session) as client:
                await _show_changes(client, scope, rows, output)
    if not given.problems:
        return OK
    if rows:
        return FOUND
    # What was not listed may have a problem, so this is not the answer of a script that checks for none.
    return FAILED if listing.refused else OK


async def watch_one(given: Namespace, target: AutoscalerName) -> int:
    """Print one, and then each change of it, as in a list."""
    async with connected(cluster_of(given)) as session:
        kind, namespace, body = await existing(session, target)
        row = row_of(kube_json.decode(body, Autoscaler), kind)
        output = RowOutput(given)
        output.print_list([row])
        scope = Scope(
            kinds=(kind,), namespace=namespace, field_selector=f"metadata.name={target.name}"
        )
        async with watching(session) as client:
            await _show_changes(client, scope, [row], output)
    return OK


def sorted_by(field: str | None, rows: Sequence[Row]) -> Sequence[Row]:
    """By one of `SORT_FIELDS`, unchanged without one; unknown counts first. Those that are equal keep their order."""
    if field is None:
        return rows

    def key(row: Row) -> tuple[bool, Any]:
        value = getattr(row, field)
        return value is not None, value

    return sorted(rows, key=key)


async def _show_changes(
    client: Watcher, scope: Scope, rows: Sequence[Row], output: RowOutput
) -> None:
    known: Mapping[str, Row] = {each.key: each for each in rows}
    async with aclosing(changed_rows(client, scope, known)) as changes:
        async for row in changes:
            output.print_change(row)


def _none_found(namespace: str, given: Namespace) -> str:
    if given.problems:
        where = f"in the namespace {namespace}" if namespace else "in any namespace"
        return f"No autoscaler {where} has a problem."
    where = (
        f"in the namespace {namespace}: -A lists all namespaces" if namespace else "in the cluster"
    )
    labels = f" with the labels {given.selector}" if given.selector else ""
    return f"There are no LoadAutoscalers or HorizontalPodAutoscalers{labels} {where}."

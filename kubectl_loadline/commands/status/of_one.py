"""`status` of one autoscaler, and what its dry run would have done."""

import time
from argparse import Namespace

import msgspec

from kubectl_loadline.cluster.autoscaler_name import AutoscalerName
from kubectl_loadline.cluster.connecting import Session, Unreachable, connected, existing
from kubectl_loadline.cluster.flags import cluster_of
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from kubectl_loadline.commands.status.row_output import RowOutput, print_encoded
from kubectl_loadline.status.dry_run import DryRunComparison, compare
from kubectl_loadline.status.recorded_replicas import (
    CURRENT,
    DESIRED,
    recorded,
    replicas_query,
    step_for,
)
from kubectl_loadline.status.row import Row, row_of
from kubectl_loadline.status.text import comparison_sentence, detail
from kubectl_loadline.terminal.documents import is_document
from kubectl_loadline.terminal.exit_codes import OK
from kubectl_loadline.terminal.screen import screen_columns
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.cluster.status import stored_memory
from wire.api import kube_json
from wire.api.status import Unavailable
from wire.process.command_line.messages import wrapped


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of a dry run, or None; `basis` says what was used, or why there is nothing."""

    comparison: DryRunComparison | None = None
    basis: str = ""


class _Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    autoscalers: tuple[Row, ...]
    dry_run: Compared | None = None


async def show_one(given: Namespace, target: AutoscalerName) -> int:
    """In sentences, or in the format of `-o`."""
    async with connected(cluster_of(given)) as session:
        kind, _, body = await existing(session, target)
        autoscaler = kube_json.decode(body, Autoscaler)
        row = row_of(autoscaler, kind)
        if given.output and not is_document(given.output):
            RowOutput(given).print_list([row])
            return OK
        compared = await _compared(session, given, kind, body, row) if row.dry_run else None
    if given.output:
        print_encoded(given.output, _Document(autoscalers=(row,), dry_run=compared))
    else:
        text = detail(row, "" if compared is None else _sentence(compared))
        print(wrapped(text, screen_columns()))
    return OK


async def _compared(
    session: Session, given: Namespace, kind: WatchedKind, body: bytes, row: Row
) -> Compared:
    found = await compared_in_prometheus(session, given, kind, row)
    if found.comparison is not None:
        return found
    return msgspec.structs.replace(found, basis=f"{found.basis}{remembered(body)}")


async def compared_in_prometheus(
    session: Session, given: Namespace, kind: WatchedKind, row: Row
) -> Compared:
    """From the recorded metrics, if Prometheus can be reached and has them."""
    end = time.time()
    step = step_for(given.since)
    try:
        async with (
            prometheus_url(session, url=given.prometheus_url, adapter=given.program) as url,
            session.progress.waiting_for("reading the recorded replicas from Prometheus"),
        ):
            actual, desired = [
                await recorded(
                    url,
                    replicas_query(kind, which, row.namespace, row.name),
                    start=end - given.since,
                    end=end,
                    step=step,
                )
                for which in (CURRENT, DESIRED)
            ]
    except (Unreachable, Unavailable) as error:
        return Compared(basis=f"no history: {str(error).rstrip('.')}")
    found = compare(actual, desired, step_seconds=step)
    if found is None:
        return Compared(
            basis="no history: Prometheus has neither the metrics of the scaler nor those of kube-state-metrics for it; "
            "set serviceMonitor.enabled in the scaler chart"
        )
    basis = f"the replicas that Prometheus has recorded, one sample per {step:g} s"
    return Compared(comparison=found, basis=basis)


def remembered(body: bytes) -> str:
    """A further sentence: what the status itself says of the recent past."""
    steps = stored_memory(body).history.recommendations or ()
    if not steps:
        return ""
    minutes = (steps[-1].until_unix_seconds - steps[0].since_unix_seconds) / 60
    span = f"{minutes:.0f} minutes" if minutes >= 1.5 else "minute"
    recommended = [each.replicas for each in steps]
    return (
        f". According to its status, the metrics recommended {min(recommended)} to "
        f"{max(recommended)} replicas in the last {span}"
    )


def _sentence(compared: Compared) -> str:
    if compared.comparison is None:
        return f"{compared.basis[:1].upper()}{compared.basis[1:]}."
    return comparison_sentence(compared.comparison, compared.basis)

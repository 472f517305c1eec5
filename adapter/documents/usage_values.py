"""Samples of cpu and memory to the usage of pods and nodes.

After prometheus-adapter v0.12.0 pkg/resourceprovider/provider.go: NaN and negative usage count as 0; a pod or node
without any cpu or any memory sample is left out; a container with one of the two has 0 of the other; the earliest
sample gives the time. Unlike there, a result that is not a vector is an error and not an empty list.
"""

import math
from collections.abc import Callable, Sequence

from adapter.documents.refusals import about_query, metrics_not_fetched
from adapter.documents.signal_contract import milli
from adapter.model import (
    Evaluation,
    KubeObject,
    ResultKind,
    Rows,
    Sample,
    Usage,
    UsageQuery,
    UsageValue,
)

_ByObject = dict[str, list[Sample]]


LeftOut = Callable[[KubeObject, str], None]
"""Takes an object that has no usage, and why."""


def _ignored(_: KubeObject, _why: str) -> None:
    """Of a request that is served."""


def usage_values(
    cpu: Evaluation,
    memory: Evaluation,
    query: UsageQuery,
    subjects: Sequence[KubeObject],
    left_out: LeftOut = _ignored,
) -> tuple[UsageValue, ...]:
    """The usage of the pods of one namespace, or of nodes, in the order given; raises `StatusError` 500.

    An object without cpu or memory, or with a usage that is not a number, is left out: one bad sample must not fail the list.
    """
    cpu_of = _by_object(cpu, query.cpu_rows, query.cpu.query)
    memory_of = _by_object(memory, query.memory_rows, query.memory.query)
    found: list[UsageValue] = []
    for each in subjects:
        try:
            samples = cpu_of.get(each.name), memory_of.get(each.name)
            found.append(_usage_value(each, *samples, query, cpu.ahead_seconds))
        except _NoUsage as error:
            left_out(each, str(error))
    return tuple(found)


class _NoUsage(Exception):
    """An object has no usage; the message says why."""


def _by_object(evaluation: Evaluation, rows: Rows, query: str) -> _ByObject:
    if evaluation.kind is not ResultKind.VECTOR:
        after = f" must yield an instant vector, but yields a {evaluation.kind.value}"
        raise about_query(metrics_not_fetched, "", query, after)
    found: _ByObject = {}
    for sample in evaluation.samples:
        found.setdefault(sample.labels.get(rows.object_label, ""), []).append(sample)
    return found


def _usage_value(
    subject: KubeObject,
    cpu: Sequence[Sample] | None,
    memory: Sequence[Sample] | None,
    query: UsageQuery,
    ahead_seconds: float,
) -> UsageValue:
    """`ahead_seconds`: how far the clock of the samples is ahead. Raises `_NoUsage`."""
    if cpu is None or memory is None:
        raise _NoUsage("Prometheus has no cpu or no memory usage of it")
    if not subject.namespace:
        # A node is one row; of several, prometheus-adapter takes the first.
        cpu, memory = cpu[:1], memory[:1]
    cpu_by = _by_container(cpu, query.cpu_container_label, "cpu")
    memory_by = _by_container(memory, query.memory_container_label, "memory")
    at_seconds = min(sample.timestamp_seconds for sample in [*cpu, *memory])
    return UsageValue(
        subject=subject,
        usage={
            name: Usage(cpu_milli=cpu_by.get(name, 0), memory_milli=memory_by.get(name, 0))
            for name in {**cpu_by, **memory_by}
        },
        timestamp_seconds=at_seconds,
        sampled_seconds=at_seconds - ahead_seconds,
        window_seconds=query.window_seconds,
    )


def _by_container(samples: Sequence[Sample], label: str, of: str) -> dict[str, int]:
    """Thousandths by container: the last row of each, and of all of them under "" for a node or without a label. Raises `_NoUsage` when one of them does not fit in an int64."""
    found: dict[str, int] = {}
    for sample in samples:
        if sample.is_histogram:
            raise _NoUsage(f"its {of} usage in Prometheus is a native histogram")
        used = 0 if math.isnan(sample.value) or sample.value < 0 else milli(sample.value)
        if used is None:
            raise _NoUsage(f"its {of} usage in Prometheus is {sample.value}")
        found[sample.labels.get(label, "")] = used
    return found

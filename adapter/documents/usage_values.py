"""Samples of cpu and memory to the usage of pods and nodes.

After prometheus-adapter v0.12.0 pkg/resourceprovider/provider.go: NaN and negative usage count as 0; a pod or node
without any cpu or any memory sample is left out; a container with one of the two has 0 of the other; the earliest
sample gives the time. Unlike there, a result that is not a vector is an error and not an empty list.
"""

import math
from collections.abc import Sequence

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


def usage_values(
    cpu: Evaluation, memory: Evaluation, query: UsageQuery, subjects: Sequence[KubeObject]
) -> tuple[UsageValue, ...]:
    """The usage of the pods of one namespace, or of nodes, in the order given; raises `StatusError` 500.

    An object without cpu or memory, or with a usage that is not a number, is left out: one bad sample must not fail the list.
    """
    cpu_of = _by_object(cpu, query.cpu_rows, query.cpu.query)
    memory_of = _by_object(memory, query.memory_rows, query.memory.query)
    found = (
        _usage_value(each, cpu_of[each.name], memory_of[each.name], query)
        for each in subjects
        if each.name in cpu_of and each.name in memory_of
    )
    return tuple(value for value in found if value is not None)


def _by_object(evaluation: Evaluation, rows: Rows, query: str) -> _ByObject:
    if evaluation.kind is not ResultKind.VECTOR:
        after = f" must yield an instant vector, but yields a {evaluation.kind.value}"
        raise about_query(metrics_not_fetched, "", query, after)
    found: _ByObject = {}
    for sample in evaluation.samples:
        found.setdefault(sample.labels.get(rows.object_label, ""), []).append(sample)
    return found


def _usage_value(
    subject: KubeObject, cpu: Sequence[Sample], memory: Sequence[Sample], query: UsageQuery
) -> UsageValue | None:
    if not query.cpu_container_label:
        cpu, memory = (
            cpu[:1],
            memory[:1],
        )  # a node is one row; of several, prometheus-adapter takes the first
    cpu_by = _by_container(cpu, query.cpu_container_label)
    memory_by = _by_container(memory, query.memory_container_label)
    if cpu_by is None or memory_by is None:
        return None
    return UsageValue(
        subject=subject,
        usage={
            name: Usage(cpu_milli=cpu_by.get(name, 0), memory_milli=memory_by.get(name, 0))
            for name in {**cpu_by, **memory_by}
        },
        timestamp_seconds=min(sample.timestamp_seconds for sample in [*cpu, *memory]),
        window_seconds=query.window_seconds,
    )


def _by_container(samples: Sequence[Sample], label: str) -> dict[str, int] | None:
    """Thousandths by container (under "" for a node); None when one of them does not fit in an int64."""
    found: dict[str, int] = {}
    for sample in samples:
        if sample.is_histogram:
            return None
        used = 0 if math.isnan(sample.value) or sample.value < 0 else milli(sample.value)
        if used is None:
            return None
        found[sample.labels.get(label, "")] = used
    return found

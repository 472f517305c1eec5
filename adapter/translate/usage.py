"""Samples of cpu and memory to what pods and nodes use.

After prometheus-adapter v0.12.0 pkg/resourceprovider/provider.go: NaN and negative usage count as 0; a pod or node
without any cpu or any memory sample is left out; a container with one of the two has 0 of the other; the earliest
sample gives the time. Unlike there, an answer that is no vector is an error and not an empty list.
"""

import math
from collections.abc import Sequence

from adapter.model import (
    Evaluation,
    KubeObject,
    ResultKind,
    Rows,
    Sample,
    Usage,
    UsageQuestion,
    UsageValue,
)
from adapter.translate.contract import milli
from adapter.translate.refusals import metrics_not_fetched

_ByObject = dict[str, list[Sample]]


def usage_values(
    cpu: Evaluation, memory: Evaluation, question: UsageQuestion, subjects: Sequence[KubeObject]
) -> tuple[UsageValue, ...]:
    """The usage of the pods of one namespace, or of nodes, in the order given; raises `StatusError` 500."""
    cpu_of = _by_object(cpu, question.cpu_rows, question.cpu.query)
    memory_of = _by_object(memory, question.memory_rows, question.memory.query)
    return tuple(
        _usage_value(each, cpu_of[each.name], memory_of[each.name], question)
        for each in subjects
        if each.name in cpu_of and each.name in memory_of
    )


def _by_object(evaluation: Evaluation, rows: Rows, query: str) -> _ByObject:
    if evaluation.kind is not ResultKind.VECTOR:
        raise metrics_not_fetched(
            f"{query!r} must yield an instant vector, and yields a {evaluation.kind.value}"
        )
    found: _ByObject = {}
    for sample in evaluation.samples:
        found.setdefault(sample.labels.get(rows.object_label, ""), []).append(sample)
    return found


def _usage_value(
    subject: KubeObject, cpu: Sequence[Sample], memory: Sequence[Sample], question: UsageQuestion
) -> UsageValue:
    if not question.cpu_container_label:
        cpu, memory = cpu[:1], memory[:1]  # a node is one row; of several, the peer takes the first
    cpu_by = {
        sample.labels.get(question.cpu_container_label, ""): _used_milli(sample) for sample in cpu
    }
    memory_by = {
        sample.labels.get(question.memory_container_label, ""): _used_milli(sample)
        for sample in memory
    }
    return UsageValue(
        subject=subject,
        usage={
            name: Usage(cpu_milli=cpu_by.get(name, 0), memory_milli=memory_by.get(name, 0))
            for name in {**cpu_by, **memory_by}
        },
        timestamp_seconds=min(sample.timestamp_seconds for sample in [*cpu, *memory]),
        window_seconds=question.window_seconds,
    )


def _used_milli(sample: Sample) -> int:
    if math.isnan(sample.value) or sample.value < 0:
        return 0
    used = milli(sample.value)
    if used is None:
        raise metrics_not_fetched(f"a usage of {sample.value} for {dict(sample.labels)}")
    return used

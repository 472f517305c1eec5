"""Samples of cpu and memory to usage; tests/conformance/adapter has the vectors."""

import pytest

from adapter.documents.usage_values import usage_values
from adapter.model import Evaluation, KubeObject, Plan, ResultKind, Rows, Sample, UsageQuery


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        pytest.param(KubeObject(name="a", namespace="n"), (2000, 1), id="the last one of a pod"),
        pytest.param(KubeObject(name="a"), (1000, 2), id="the first one of a node"),
    ],
)
def test_of_several_rows_without_a_container_label_one_is_used_as_in_prometheus_adapter(
    subject, expected
):
    cpu, memory = (
        Evaluation(
            kind=ResultKind.VECTOR,
            samples=tuple(
                Sample({"of": "a", "container": each}, value, at)
                for each, value, at in (("x", values[0], 2.0), ("y", values[1], 1.0))
            ),
            evaluated_at_seconds=0.0,
        )
        for values in ((1.0, 2.0), (3.0, 4.0))
    )
    rows = Rows(object_label="of")
    query = UsageQuery(
        cpu=Plan("c"), memory=Plan("m"), cpu_rows=rows, memory_rows=rows, window_seconds=0.0
    )
    [found] = usage_values(cpu, memory, query, [subject])
    milli, seconds = expected
    assert (found.usage[""].cpu_milli, found.timestamp_seconds) == (milli, seconds)

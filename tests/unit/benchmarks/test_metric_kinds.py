"""The metrics of the benchmarks need the replicas that the benchmarks check, whatever share of the value is returned."""

import msgspec
import pytest

from benchmarks.instruments.bench_targets import _READY, _pod
from benchmarks.instruments.metric_kinds import (
    SHARES,
    MetricKind,
    is_expected,
    metric_spec,
    pod_names,
    replicas,
    response,
)
from scaler.algorithm import samples
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import Reading
from scaler.api.autoscaler import Behavior, MetricSpec
from tests.unit.scaler.objects import decided, observed, spec
from wire.api import custom_metrics, external_metrics, resource_metrics

# The pods have been ready for months.
NOW_UNIX_SECONDS = 1_800_000_000.0


def reading(kind: MetricKind, body: bytes) -> Reading:
    match kind:
        case MetricKind.EXTERNAL:
            return samples.external_values(external_metrics.decode(body))
        case MetricKind.OBJECT:
            return samples.object_value(custom_metrics.decode(body))
        case MetricKind.PODS:
            return samples.pod_samples(custom_metrics.decode(body))
        case MetricKind.RESOURCE:
            return samples.resource_samples(resource_metrics.decode_pods(body), resource="cpu")


@pytest.mark.parametrize("kind", MetricKind)
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("share", SHARES)
def test_the_target_needs_the_expected_replicas_and_keeps_them(kind, number, share):
    metric = msgspec.convert(metric_spec(kind, number), MetricSpec)
    pods = tuple(
        msgspec.convert({**_pod(number, name), **_READY}, Pod) for name in pod_names(number)
    )
    for current in (1, replicas(number)):
        decision = decided(
            observed(
                spec(metric, behavior=Behavior()),
                replicas=current,
                status_replicas=replicas(number),
            ),
            [reading(kind, response(kind, number, share))],
            memory=Memory(recommendations=()),
            now=NOW_UNIX_SECONDS,
            target_pods=pods,
        )
        assert decision.desired_replicas == replicas(number)
        written = msgspec.to_builtins({"currentMetrics": decision.current_metrics})
        assert is_expected(kind, number, written)

"""Which branch a reconcile takes before any metric is requested."""

import msgspec
import pytest

from scaler.algorithm.decision import Branch
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable
from scaler.algorithm.plan import plan
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import AutoscalerStatus, Condition
from scaler.api.extension_spec import Suspend
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    autoscaler,
    average,
    external,
    observed,
    resource,
    spec,
    utilization,
)

ZERO_ON = Settings(extensions=EXTENSIONS, scale_to_zero=True)
CPU = resource(utilization(50))
QUEUE = external(average("1"))


def branch_of(seen, settings):
    """Which branch a plan takes; METRICS means that it asks for metrics."""
    planned = plan(seen, Memory(), settings, NOW)
    found = planned.turn if isinstance(planned, Ask) else planned.derivation
    assert isinstance(planned, Ask) is (found.branch == Branch.METRICS)
    return Branch(found.branch)


def scaled_to_zero(status):
    return AutoscalerStatus(conditions=(Condition(type="ScaledToZero", status=status),))


@pytest.mark.parametrize(
    ("replicas", "branch"),
    [
        pytest.param(0, Branch.DISABLED, id="zero"),
        pytest.param(1, Branch.BELOW_MIN, id="below the minimum"),
        pytest.param(2, Branch.METRICS, id="the minimum"),
        pytest.param(5, Branch.METRICS, id="the maximum"),
        pytest.param(6, Branch.ABOVE_MAX, id="above the maximum"),
    ],
)
def test_the_count_decides(replicas, branch):
    seen = observed(spec(min_replicas=2, max_replicas=5), replicas=replicas)
    assert branch_of(seen, Settings()) is branch


def test_a_missing_minimum_is_one():
    assert branch_of(observed(spec(min_replicas=None), replicas=1), Settings()) is Branch.METRICS


@pytest.mark.parametrize(
    ("settings", "min_replicas", "condition", "metric", "branch"),
    [
        pytest.param(Settings(scale_to_zero=False), 0, "True", QUEUE, Branch.DISABLED, id="gate off: zero disables even with a minimum of 0"),
        pytest.param(ZERO_ON, 0, "True", QUEUE, Branch.METRICS, id="the controller scaled to zero"),
        pytest.param(ZERO_ON, 0, "False", QUEUE, Branch.DISABLED, id="a user did"),
        pytest.param(ZERO_ON, 0, None, QUEUE, Branch.DISABLED, id="unknown who did"),
        pytest.param(ZERO_ON, 0, "True", CPU, Branch.DISABLED, id="cpu has no value at zero"),
        pytest.param(ZERO_ON, 1, "True", CPU, Branch.METRICS, id="the minimum was raised since"),
    ],
)  # fmt: skip
def test_only_the_controllers_own_zero_is_left_again(
    settings, min_replicas, condition, metric, branch
):
    status = scaled_to_zero(condition) if condition else None
    seen = observed(spec(metric, min_replicas=min_replicas), replicas=0, status=status)
    assert branch_of(seen, settings) is branch


SUSPENDED = Suspend(replicas=0, until="2020-01-01T00:00:00Z")


@pytest.mark.deviation("min-at-zero")
@pytest.mark.parametrize(
    ("kind", "metric", "suspend", "branch"),
    [
        pytest.param(LOAD_AUTOSCALERS, CPU, None, Branch.BELOW_MIN, id="cpu"),
        pytest.param(LOAD_AUTOSCALERS, QUEUE, None, Branch.METRICS, id="a queue can be read at zero"),
        pytest.param(LOAD_AUTOSCALERS, QUEUE, SUSPENDED, Branch.BELOW_MIN, id="a suspension ended"),
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, CPU, None, Branch.METRICS, id="an HPA, as upstream"),
    ],
)  # fmt: skip
def test_a_minimum_ends_the_zero_of_a_loadautoscaler_without_any_metric(
    kind, metric, suspend, branch
):
    settings = Settings(extensions=EXTENSIONS, kind=kind, scale_to_zero=True)
    of = msgspec.structs.replace(spec(metric, min_replicas=2), suspend=suspend)
    seen = observed(of, replicas=0, status=scaled_to_zero("True"))
    assert branch_of(seen, settings) is branch


def test_without_a_scale_no_metric_is_requested():
    seen = Observed(autoscaler=autoscaler(spec()), scale=ScaleUnavailable(message="gone"))
    assert branch_of(seen, Settings()) is Branch.NO_SCALE

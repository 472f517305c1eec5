"""A decision as a waterfall: every row continues where the row before it ended."""

from itertools import pairwise

import msgspec
import pytest

from kubectl_loadline.page.waterfall import TITLES, waterfall
from scaler.algorithm.derivation import (
    Bound,
    Derivation,
    MetricDerivation,
    PolicyLimit,
    Rate,
    Stabilization,
)
from scaler.algorithm.extension import Extension
from scaler.algorithm.remark import Remark
from scaler.extensions import EXTENSIONS
from scaler.extensions.scale_to_zero import ZeroStep
from tests.unit.kubectl_loadline.decisions.test_simulated import cluster, decided

QUEUE = MetricDerivation(type="External", name='external metric queue(nil)', value_milli=120_000, target="average value 30", usage_ratio=0.31, proposal=4)  # fmt: skip
CPU = msgspec.structs.replace(QUEUE, name="cpu resource", proposal=3)
DECISION = Derivation(
    autoscaler="shop/web",
    made_at_unix_seconds=1000.0,
    branch="Metrics",
    current_replicas=13,
    min_replicas=0,
    max_replicas=50,
    metrics=(QUEUE,),
    winner=0,
    proposed=4,
    stabilization=Stabilization(down_window_seconds=300.0, recommended=4, stabilized=13, deciding_replicas=13, deciding_made_at_unix_seconds=850.0, reason="ScaleDownStabilized"),
    bound=Bound(min_replicas=0, max_replicas=50, before=13, after=13, reason="DesiredWithinRange"),
    desired_replicas=13,
)  # fmt: skip


def changed(**changes):
    return msgspec.structs.replace(DECISION, **changes)


def steps(derivation):
    return [row.step for row in waterfall(derivation, EXTENSIONS)]


def counts(derivation):
    return [(each.title, each.before, each.after) for each in steps(derivation)]


def test_it_leads_from_the_metric_to_the_final_count():
    assert counts(DECISION) == [
        ("Current", None, 13),
        ("external metric queue", None, 4),
        ("Stabilization window", 4, 13),
        ("Scaling policy", 13, 13),
        ("Limits", 13, 13),
        ("Desired", None, 13),
    ]
    sentence = (
        "The highest recommendation of the last 300 s is 13, made 150 s ago, so 4 becomes 13."
    )
    assert steps(DECISION)[2].sentence == sentence


def test_of_several_metrics_the_one_with_the_largest_proposal_decides():
    found = steps(changed(metrics=(CPU, QUEUE), winner=1))
    assert [each.decides for each in found[1:3]] == [False, True]
    assert not any(each.decides for each in steps(DECISION)), "a single metric decides anyway"


def test_a_policy_and_a_bound_are_rows_of_their_own():
    policy = PolicyLimit(
        type="Pods", value=4, period_seconds=60, period_start_replicas=13, limit=17
    )
    rate = Rate(direction="up", policies=(policy,), limit=17)
    bound = Bound(
        rate=rate, min_replicas=0, max_replicas=50, before=30, after=17, reason="ScaleUpLimit"
    )
    up = changed(stabilization=None, bound=bound, desired_replicas=17)
    assert counts(up)[-3:] == [
        ("Scaling policy", 30, 17),
        ("Limits", 17, 17),
        ("Desired", None, 17),
    ]
    most = msgspec.structs.replace(bound, before=60, after=50, reason="TooManyReplicas", rate=None)
    assert counts(changed(bound=most, desired_replicas=50))[-3:-1] == [
        ("Scaling policy", 60, 60),
        ("Limits", 60, 50),
    ]


def test_what_holds_the_count_has_its_own_name_and_sentence():
    suspended = Remark(
        condition="Suspended",
        active=True,
        reason="Suspended",
        message="scaling is suspended",
        holds=True,
    )
    found = steps(changed(desired_replicas=20, remarks=(suspended,)))[-2]
    assert (found.title, found.before, found.after) == ("Suspension", 13, 20)
    assert found.sentence == "Scaling is suspended."
    zero = ZeroStep(cooldown_seconds=300.0, floor=1, decides=True, inactive_since_unix_seconds=990)
    found = steps(changed(desired_replicas=1, steps={"zero": zero}))[-2]
    assert (found.title, found.after) == ("Scale to zero", 1)


def test_an_outdated_cache_is_named_where_it_holds_the_count():
    held = changed(
        bound=Bound(
            min_replicas=0, max_replicas=50, before=4, after=4, reason="DesiredWithinRange"
        ),
        stabilization=None,
        held="not scaled down from 13 to 4: the cache is old",
        held_by="OutdatedCache",
    )
    found = steps(held)[-2]
    assert (found.title, found.before, found.after) == ("Held", 4, 13)


def test_a_failed_metric_has_no_count_and_the_replicas_stay():
    failed = MetricDerivation(type="External", failure="no rows")
    found = waterfall(
        changed(
            metrics=(failed,),
            winner=None,
            proposed=None,
            stabilization=None,
            bound=None,
            desired_replicas=None,
        ),
        EXTENSIONS,
    )
    assert [(row.step.tone, row.bar is None) for row in found] == [
        ("current", False),
        ("failed", True),
        ("desired", False),
    ]
    assert "no rows" in found[1].step.sentence


@pytest.mark.parametrize(
    ("branch", "limit", "expected"),
    [("AboveMax", 50, "maxReplicas is 50"), ("BelowMin", 0, "minReplicas is 0")],
)
def test_beyond_a_bound_no_metric_is_read(branch, limit, expected):
    found = steps(
        changed(
            branch=branch,
            metrics=(),
            winner=None,
            proposed=None,
            stabilization=None,
            bound=None,
            desired_replicas=limit,
        )
    )
    assert [each.title for each in found] == ["Current", "Limits", "Desired"]
    assert expected in found[1].sentence


@pytest.mark.parametrize("queue", ["0", "29", "55", "80", "900", "fails"])
@pytest.mark.parametrize("replicas", [0, 1, 3, 12])
async def test_every_row_continues_where_the_row_before_it_ended(queue, replicas):
    derivation = (await decided(cluster(maxReplicas=10), queue=queue, replicas=replicas)).derivation
    found = waterfall(derivation, EXTENSIONS)
    changes = [row.step for row in found if row.step.is_change]
    for before, after in pairwise(changes):
        assert before.after == after.before
    if changes:
        assert changes[-1].after == found[-1].step.after
    for row in found:
        if row.bar is not None:
            assert row.bar.x >= 0
            assert row.bar.x + row.bar.width <= 100.8


def test_every_extension_that_can_change_a_count_has_a_title():
    hooks = ("recommended", "recommendation", "stabilized", "bounded", "decided", "final")
    for each in EXTENSIONS:
        if any(getattr(type(each), hook) is not getattr(Extension, hook) for hook in hooks):
            assert each.name in {*TITLES, "dryRun", "podSelection", "actualRequests"}

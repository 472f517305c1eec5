"""`podReadiness.rollout: HottestRevision`: an overloaded canary is not hidden by idle stable pods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed, PodSamples
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.api.extension_spec import PodReadiness
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.extensions.test_rollout import new, of_revision, old
from tests.unit.scaler.objects import (
    NOW,
    average,
    container_resource,
    decided,
    external,
    few_examples,
    observed,
    of_pods,
    replaced,
    resource,
    rules,
    samples,
    spec,
    utilization,
    value,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
FREE = Behavior(scale_up=rules(), scale_down=rules())
CPU = resource(utilization(70))


def decision(
    stable, canary, *metrics, rollout="HottestRevision", replicas=22, target_pods=None, also=()
):
    """Pods with these usages in thousandths of a CPU; each requests one."""
    of = spec(*(metrics or (CPU,)), behavior=FREE)
    of = replaced(of, pod_readiness=PodReadiness(rollout=rollout))
    usage = {f"a-{index}": each for index, each in enumerate(stable)}
    usage |= {f"b-{index}": each for index, each in enumerate(canary)}
    if target_pods is None:
        target_pods = [*old(len(stable)), *new(len(canary))]
    return decided(
        observed(of, replicas=replicas),
        (samples({name: each for name, each in usage.items() if each is not None}), *also),
        memory=Memory(recommendations=()),
        settings=LA,
        target_pods=tuple(target_pods),
    )


@pytest.mark.parametrize(
    ("rollout", "replicas", "expected"),
    [
        pytest.param("Count", 22, 22, id="67% of all: within the tolerance"),
        pytest.param("HottestRevision", 22, 35, id="109 / 70 of 22"),
        pytest.param("HottestRevision", 12, 19, id="the canary is in excess of the replicas"),
    ],
)
def test_the_canary_of_argo_rollouts_issue_4607_is_scaled(rollout, replicas, expected):
    """12 stable pods at 32.3% and 10 canary pods at 109%, with a target of 70%."""
    found = decision([323] * 12, [1090] * 10, rollout=rollout, replicas=replicas)
    assert found.desired_replicas == expected


@pytest.mark.parametrize(
    ("stable", "canary", "replicas", "expected"),
    [
        pytest.param([700] * 8, [760] * 2, 10, 10, id="the hottest is within the tolerance"),
        pytest.param([100] * 8, [760] * 2, 10, 10, id="and keeps what the average would reduce"),
        pytest.param([1400] * 2, [700] * 8, 10, 20, id="the stable one is the hottest"),
        pytest.param([350] * 5, [210] * 5, 10, 5, id="a scale-down goes as far as the hottest"),
        pytest.param([1400] * 10, [], 10, 20, id="one revision: as an HPA"),
        pytest.param([840] * 10, [840] * 3, 10, 16, id="equal usage: surge pods count, too"),
        pytest.param([700] * 9, [1400, None], 10, 10, id="a pod without a sample counts as 0"),
        pytest.param([350] * 9, [None], 10, 6, id="a revision without samples proposes nothing"),
    ],
)
def test_the_revision_that_needs_most_decides(stable, canary, replicas, expected):
    assert decision(stable, canary, replicas=replicas).desired_replicas == expected


def test_pods_that_start_do_not_propose_a_scale_up():
    """As in the average: their CPU usage says nothing about the load before they are ready."""
    starting = new(2, ready="False", started_seconds_ago=20, turned_seconds_ago=20)
    found = decision([700] * 8, [3000] * 2, replicas=10, target_pods=[*old(8), *starting])
    assert found.desired_replicas == 10


@pytest.mark.parametrize(
    "metric",
    [of_pods(average("700m")), resource(average("700m")), container_resource(utilization(70))],
    ids=["Pods", "an average value", "a container"],
)
def test_it_applies_to_all_metrics_of_pods(metric):
    assert decision([323] * 12, [1090] * 10, metric).desired_replicas == 35


def test_other_metrics_are_not_changed_by_it():
    metrics = (CPU, external(value("10")))
    found = decision([700] * 8, [700] * 2, *metrics, replicas=10, also=(ExternalValues((20_000,)),))
    assert found.desired_replicas == 20


def test_a_failed_metric_beside_a_hot_revision_does_not_block_the_scale_up():
    metrics = (CPU, external(value("10")))
    failed = (MetricFailed("no such series"),)
    usage = ([100] * 12, [1090] * 10)
    of_all = decision(*usage, *metrics, rollout="Count", also=failed)
    assert of_all.desired_replicas is None
    found = decision(*usage, *metrics, also=failed)
    assert found.desired_replicas == 35
    assert "All pods together allow no decision." in explain(found.derivation, EXTENSIONS)


def test_only_the_20_revisions_with_the_most_pods_are_computed():
    """More of them only exist if the labels are not revisions, and each takes as long as a metric."""

    def desired(hot_pods):
        of_20 = [
            of_revision(f"r{index:02}", f"r{index:02}-{each}", created_seconds_ago=900)
            for index in range(20)
            for each in range(2)
        ]
        hot = [
            of_revision("hot", f"hot-{each}", created_seconds_ago=900) for each in range(hot_pods)
        ]
        usage = {each.metadata.name: 700 for each in of_20}
        usage |= {each.metadata.name: 1400 for each in hot}
        of = replaced(
            spec(CPU, behavior=FREE), pod_readiness=PodReadiness(rollout="HottestRevision")
        )
        return decided(
            observed(of, replicas=40),
            (samples(usage),),
            memory=Memory(recommendations=()),
            settings=LA,
            target_pods=(*of_20, *hot),
        ).desired_replicas

    assert (desired(1), desired(3)) == (40, 80)


def test_users_read_which_revision_decides():
    found = decision([323] * 12, [1090] * 10)
    text = explain(found.derivation, EXTENSIONS)
    assert "Computed from the 10 pods of revision b, whose ratio is 1.56." in text
    assert text.splitlines()[-1].strip() == (
        "While pods of several revisions run, the one that needs most replicas decides. All pods together propose 22."
    )
    outcome = settle(found, NotNeeded(), NOW)
    condition = {each.type: each for each in outcome.status.conditions or ()}["HottestRevision"]
    assert (condition.status, condition.reason) == ("True", "RolloutInProgress")
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "HottestRevision"
    over = settle(decision([700] * 22, []), NotNeeded(), NOW)
    condition = {each.type: each for each in over.status.conditions or ()}["HottestRevision"]
    assert (condition.status, condition.reason) == ("False", "NoRollout")


usages = st.lists(st.integers(0, 3_000), max_size=12)


@few_examples
@given(stable=usages, canary=usages, replicas=st.integers(1, 24))
def test_it_never_proposes_less_than_an_hpa(stable, canary, replicas):
    hpa = decision(stable, canary, rollout="Count", replicas=replicas).desired_replicas
    found = decision(stable, canary, replicas=replicas).desired_replicas
    if not stable or not canary:
        assert found == hpa
    else:
        assert hpa is not None
        assert found is not None
        assert found >= hpa


@few_examples
@given(canary=st.integers(1, 20), stable=st.integers(1, 20), usage=st.integers(771, 3_000))
def test_with_its_share_of_the_new_replicas_the_hottest_is_at_its_target(canary, stable, usage):
    replicas = canary + stable
    metric = of_pods(average("700m"))
    found = decision([100] * stable, [usage] * canary, metric, replicas=replicas).desired_replicas
    assert found is not None
    share = min(found, 100) * canary / replicas
    assert usage * canary / share <= 700 + 1e-6 or found == 100


class Counted(dict):
    """Samples, and how often all of them are gone through."""

    passes = 0

    def items(self):
        self.passes += 1
        return super().items()


def passes_with(revisions):
    of = replaced(
        spec(of_pods(average("1"))), pod_readiness=PodReadiness(rollout="HottestRevision")
    )
    target_pods = tuple(
        of_revision(f"r{each}", f"web-{each}", created_seconds_ago=9_000)
        for each in range(revisions)
    )
    names = [each.metadata.name for each in target_pods]
    by_pod = Counted(samples(dict.fromkeys(names, 1_000)).by_pod)
    decided(
        observed(of, replicas=revisions),
        (PodSamples(by_pod),),
        memory=Memory(recommendations=()),
        settings=LA,
        target_pods=target_pods,
    )
    return by_pod.passes


def test_more_revisions_do_not_need_more_passes_through_all_samples():
    assert passes_with(20) == passes_with(2)

"""Every pod falls into exactly one group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.moment import Moment
from scaler.algorithm.pod_groups import count_ready, group_pods
from scaler.algorithm.settings import Settings
from tests.unit.scaler.objects import NOW, few_examples, pod, sample, spec

POLICY = policy_of(
    spec(), Settings(cpu_initialization_period_seconds=120, initial_readiness_delay_seconds=10)
)
FRESH = sample(100)


def group_of(one, *, resource="cpu", reading=FRESH):
    groups = group_pods(
        (one,),
        {} if reading is None else {one.metadata.name: reading},
        resource=resource,
        policy=POLICY,
        moment=Moment(NOW),
    )
    [found] = [name for name in groups.__struct_fields__ if getattr(groups, name)]
    return found


@pytest.mark.parametrize(
    ("one", "group"),
    [
        pytest.param(pod("a"), "ready", id="settled"),
        pytest.param(pod("a", deleted=True), "ignored", id="being deleted"),
        pytest.param(pod("a", phase="Failed"), "ignored", id="failed"),
        pytest.param(pod("a", phase="Pending"), "unready", id="pending"),
        pytest.param(pod("a", phase="Succeeded"), "ready", id="succeeded but sampled"),
        pytest.param(pod("a", phase="Unknown"), "ready", id="unknown phase but sampled"),
        pytest.param(pod("a", ready=None), "unready", id="no Ready condition"),
        pytest.param(pod("a", started_seconds_ago=None), "unready", id="no start time"),
        pytest.param(pod("a", ready="Unknown"), "ready", id="Ready unknown, started long ago"),
        pytest.param(
            pod("a", ready="False", turned_seconds_ago=50), "ready", id="was ready once, now is not"
        ),
        pytest.param(
            pod("a", ready="False", turned_seconds_ago=9_991), "unready", id="never became ready"
        ),
        pytest.param(
            pod("a", ready="False", turned_seconds_ago=9_990),
            "ready",
            id="turned unready exactly at the delay",
        ),
        pytest.param(
            pod("a", started_seconds_ago=119, turned_seconds_ago=61),
            "ready",
            id="warming up, a window since it is ready",
        ),
        pytest.param(
            pod("a", started_seconds_ago=119, turned_seconds_ago=59),
            "unready",
            id="warming up, no whole window since it is ready",
        ),
        pytest.param(
            pod("a", started_seconds_ago=120, turned_seconds_ago=59),
            "ready",
            id="exactly at the end of warming up",
        ),
        pytest.param(
            pod("a", started_seconds_ago=119, turned_seconds_ago=60),
            "ready",
            id="a window exactly",
        ),
        pytest.param(
            pod("a", ready="Unknown", started_seconds_ago=119, turned_seconds_ago=None),
            "ready",
            id="no transition time is the year 1",
        ),
    ],
)
def test_a_pod_with_a_cpu_sample_is_grouped_by_its_start(one, group):
    assert group_of(one) == group


@pytest.mark.parametrize("resource", ["memory", ""], ids=["memory", "a Pods metric"])
@pytest.mark.parametrize(
    "one", [pod("a", ready=None), pod("a", ready="False"), pod("a", started_seconds_ago=1)]
)
def test_readiness_matters_for_cpu_only(one, resource):
    assert group_of(one, resource=resource) == "ready"


@pytest.mark.parametrize(
    ("one", "group"),
    [
        pytest.param(pod("a"), "missing", id="running"),
        pytest.param(pod("a", phase="Succeeded"), "missing", id="succeeded is not ignored"),
        pytest.param(pod("a", phase="Pending"), "unready", id="pending comes before missing"),
        pytest.param(pod("a", deleted=True), "ignored", id="being deleted comes first"),
    ],
)
def test_a_pod_without_a_sample_is_missing(one, group):
    assert group_of(one, reading=None) == group


@pytest.mark.deviation("terminating-pods-are-ready")
@pytest.mark.parametrize(
    ("one", "counted"),
    [
        pytest.param(pod("a"), 1, id="running and ready"),
        pytest.param(pod("a", deleted=True), 1, id="being deleted still counts"),
        pytest.param(pod("a", ready="Unknown"), 0, id="Ready unknown"),
        pytest.param(pod("a", ready=None), 0, id="no condition"),
        pytest.param(pod("a", phase="Pending"), 0, id="not running"),
    ],
)
def test_object_metrics_count_running_pods_that_are_ready(one, counted):
    assert count_ready((one,)) == counted


phases = st.sampled_from(["Running", "Pending", "Failed", "Succeeded", "Unknown", ""])
some_pods = st.lists(
    st.builds(
        pod,
        st.uuids().map(str),
        phase=phases,
        ready=st.sampled_from([None, "True", "False", "Unknown"]),
        started_seconds_ago=st.none() | st.integers(0, 400),
        turned_seconds_ago=st.none() | st.integers(0, 400),
        deleted=st.booleans(),
    ),
    max_size=8,
).map(tuple)


@few_examples
@given(pods=some_pods, data=st.data())
def test_the_groups_share_all_pods_among_them(pods, data):
    names = [each.metadata.name for each in pods]
    sampled = data.draw(st.sets(st.sampled_from(names)) if names else st.just(set()))
    groups = group_pods(
        pods,
        dict.fromkeys(sampled, FRESH),
        resource="cpu",
        policy=POLICY,
        moment=Moment(NOW),
    )
    all_groups = (*groups.ready, *groups.unready, *groups.missing, *groups.ignored)
    assert sorted(all_groups) == sorted(names)
    assert set(groups.ready) <= sampled

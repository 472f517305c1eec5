"""The pods of a replay start, become ready and are deleted as those of a Deployment."""

from hypothesis import given
from hypothesis import strategies as st

from kubectl_loadline.backtest.pods import SimulatedPods
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.pod_groups import count_ready

START = 1_000_000


def pods(replicas, start_up_seconds=90):
    return SimulatedPods(
        replicas, start_up_seconds=start_up_seconds, at_unix_seconds=START, spec=PodSpec()
    )


def phases(of):
    return [each.status.phase for each in of.all()]


def test_a_pod_is_pending_until_its_start_up_has_passed():
    of = pods(1)
    of.scale_to(2, START)
    of.advance(START + 89)
    assert (of.ready, phases(of)) == (1, ["Running", "Pending"])
    of.advance(START + 90)
    assert (of.ready, phases(of)) == (2, ["Running", "Running"])


def test_a_pod_that_is_not_ready_is_deleted_first():
    of = pods(2)
    of.scale_to(4, START)
    of.scale_to(3, START + 60)
    assert (of.replicas, of.ready) == (3, 2)


def test_a_sample_of_an_earlier_time_has_only_the_pods_that_were_ready_then():
    of = pods(1)
    of.scale_to(2, START)
    of.advance(START + 90)
    assert of.names_ready_since(START + 60) == ["pod-1"]
    assert of.names_ready_since(START + 90) == ["pod-1", "pod-2"]
    assert [of.ready_at(START + at) for at in (0, 89, 90)] == [1, 1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 200)), max_size=30), st.integers(1, 300)
)
def test_the_ready_pods_are_the_least_count_within_the_start_up_time(changes, start_up_seconds):
    """What is ready now was requested one start-up time ago, and never deleted since."""
    of, now = pods(5, start_up_seconds), START
    counts = [(START - 86400, 5)]
    for replicas, seconds in changes:
        of.scale_to(replicas, now)
        counts.append((now, replicas))
        now += seconds
        of.advance(now)
        before = [count for at, count in counts if at <= now - start_up_seconds][-1]
        within = [count for at, count in counts if at > now - start_up_seconds]
        assert of.ready == min([before, *within])
        assert of.ready == count_ready(of.all())


def test_a_pod_that_became_ready_between_two_steps_counts_from_then_on():
    """Otherwise its sample would be a share among fewer pods than have one."""
    of = pods(1, start_up_seconds=10)
    of.scale_to(3, START)
    of.advance(START + 60)
    assert of.ready_at(START + 30) == len(of.names_ready_since(START + 30)) == 3
    assert of.ready_at(START + 9) == 1

"""The load, the queue, the summary and the views of the demo."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kubectl_loadline.program import COMMANDS
from testbed.demo.closing_report import next_commands
from testbed.demo.live_view import Frame, LiveView, WorkloadFrame, trail
from testbed.demo.load_plan import DRAINED_PER_REPLICA, MIN_SECONDS, WEB, WORKER, WORKLOADS, Plan
from testbed.demo.manifests import METRICS, web_autoscaler, worker_autoscaler
from testbed.demo.observation import Observation
from testbed.demo.replica_summary import ReplicaSummary
from testbed.demo.simulated_service import Running, Service, queue_length
from testbed.exporter import Exporter

PARTS = st.floats(min_value=0, max_value=1)


@given(part=PARTS)
def test_load_stays_between_quiet_and_peak(part):
    for workload in WORKLOADS:
        assert workload.load.quiet <= workload.load.at(part) <= workload.load.peak


@given(one=PARTS, other=PARTS)
def test_load_never_falls_before_the_peak_and_never_rises_after(one, other):
    early, late = sorted((one, other))
    for load in (WEB.load, WORKER.load):
        if late <= load.falls_at:
            assert load.at(early) <= load.at(late)
        if early >= load.falls_at:
            assert load.at(early) >= load.at(late)


def test_the_quiet_end_is_long_enough_to_scale_down_even_in_the_shortest_demo():
    plan = Plan(seconds=MIN_SECONDS)
    for workload in WORKLOADS:
        quiet_seconds = (1 - workload.load.ends_at) * plan.seconds
        assert quiet_seconds > 3 * plan.stabilization_seconds


def test_the_peak_needs_more_than_min_replicas_and_fewer_than_max_replicas():
    assert WEB.min_replicas < WEB.load.peak / WEB.target_per_replica < WEB.max_replicas
    assert WORKER.min_replicas < WORKER.load.peak / DRAINED_PER_REPLICA < WORKER.max_replicas


def test_the_autoscalers_use_the_metrics_that_the_adapter_serves():
    plan = Plan(seconds=240)
    pods = web_autoscaler(plan)["spec"]["metrics"][0]["pods"]["metric"]["name"]
    external = worker_autoscaler(plan)["spec"]["metrics"][0]["external"]["metric"]["name"]
    assert [pods, external] == [metric["name"] for metric in METRICS]


@pytest.mark.parametrize(
    ("before", "arriving", "draining", "after"),
    [
        pytest.param(10, 5, 0, 20, id="no consumer"),
        pytest.param(10, 5, 5, 10, id="balanced"),
        pytest.param(10, 0, 100, 0, id="never negative"),
    ],
)
def test_a_queue_grows_by_arrivals_and_shrinks_by_consumption(before, arriving, draining, after):
    length = queue_length(before, arriving=arriving, draining=draining, elapsed_seconds=2)
    assert length == after


def test_a_deleted_pod_is_no_longer_exposed_and_the_others_take_its_share():
    exporter = Exporter()
    service = Service(exporter)

    def advance(*pods: str) -> None:
        running = Running(web_pods=pods, worker_replicas=1, at_seconds=0)
        service.advance(running, requests_per_second=60, messages_per_second=0)

    advance("a", "b")
    assert 'pod="b"' in exporter.text()
    advance("a")
    assert 'pod="b"' not in exporter.text()
    assert 'pod="a"' in exporter.text()
    exporter.stop()


@pytest.mark.parametrize(
    ("replicas", "scaled_up_and_down"),
    [
        pytest.param([1, 3, 7, 4, 1], True, id="up and down"),
        pytest.param([2, 9, 3], True, id="nearly down"),
        pytest.param([1, 1, 1], False, id="constant"),
        pytest.param([1, 4, 7], False, id="only up"),
        pytest.param([1, 9, 8], False, id="hardly down"),
        pytest.param([5, 1], False, id="only down"),
    ],
)
def test_success_is_scaling_up_and_down_again(replicas, scaled_up_and_down):
    summary = ReplicaSummary(workload=WEB)
    for count in replicas:
        summary.record(replicas=count, load=1)
    assert summary.scaled_up_and_down is scaled_up_and_down
    assert (summary.lowest, summary.highest, summary.last) == (
        min(replicas),
        max(replicas),
        replicas[-1],
    )


def test_a_trail_grows_with_the_elapsed_time_and_ends_with_the_newest_value():
    half, whole = (trail([0, 50, 100], highest=100, done=done) for done in (0.5, 1.0))
    assert 2 * len(half) == len(whole)
    assert (whole[0], whole[-1]) == (" ", "█")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_frame_shows_load_metric_target_replicas_and_the_last_event(is_terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=120)
    observed = Observation(
        pods=("a",), replicas=7, metric_per_replica=61.5, event="SuccessfulRescale: x"
    )
    workload_frame = WorkloadFrame(workload=WEB, load=333, observed=observed)
    with LiveView(console) as view:
        view.show(Frame(elapsed_seconds=1, of_seconds=10, workloads=[workload_frame]))
    for text in ("web", "333", "requests/s", "61.5", "50", "7", "SuccessfulRescale"):
        assert text in out.getvalue()


def test_the_shortened_times_are_named_with_what_is_usual():
    text = Plan(seconds=240).shortened
    assert "a reconcile every 3 s (default 15 s)" in text
    assert "a scale-down stabilization window of 15 s (default 300 s)" in text


def test_the_last_words_are_three_commands_that_kubectl_loadline_accepts():
    text = next_commands(Path("/tmp/kubeconfig"), Path("kubectl-loadline"))
    lines = [line.split("#")[0].split() for line in text.splitlines() if "kubectl-loadline" in line]
    assert [line[1] for line in lines] == ["why", "simulate", "ui"]
    for _, name, *arguments in lines:
        command = next(each for each in COMMANDS if each.name == name)
        command.load().parser().parse_args(arguments)

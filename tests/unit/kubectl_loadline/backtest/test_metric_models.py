"""What a recorded series is taken to be, what a replica serves of it, and what is not replayed."""

import pytest

from kubectl_loadline.backtest.metric_kinds import NotReplayable, kind_of
from kubectl_loadline.backtest.metric_models import ModelOptions, left_out, models_of, replayable
from kubectl_loadline.backtest.recording import Recording, columns_of
from kubectl_loadline.backtest.regression import idle_use
from kubectl_loadline.backtest.series import Series, series_of
from scaler.algorithm.observed import PodSpec
from scaler.api.autoscaler import FormulaMetricSource, MetricSpec
from scaler.api.extension_spec import Suspend
from tests.unit.scaler.objects import (
    autoscaler,
    average,
    container,
    external,
    named,
    of_object,
    of_pods,
    replaced,
    resource,
    spec,
    utilization,
    value,
)

REQUESTS = 'sum(rate(http_request_duration_seconds_count{job="web"}[2m]))'
RATE = "sum(rate(messages_queued_total[1m]))"


@pytest.mark.parametrize(
    ("metric", "query", "kind"),
    [
        pytest.param(of_pods(average("1"), name="http_requests"), "", "load", id="pods"),
        pytest.param(resource(utilization(50)), "", "load", id="cpu"),
        pytest.param(external(average("1"), name="requests"), "", "load", id="external"),
        pytest.param(external(average("1"), name="queue_length"), "", "queue", id="queue"),
        pytest.param(external(average("1"), name="queue_in"), RATE, "load", id="rate of a queue"),
        pytest.param(of_object(average("1"), name="consumer_lag"), "", "queue", id="lag"),
        pytest.param(external(average("1"), name="active_flag"), "", "load", id="flag"),
        pytest.param(external(average("1"), name="rps"), REQUESTS, "load", id="rate of a count"),
        pytest.param(external(average("1"), name="rps"), 'sum(rate(http_requests_total{pod=~"memory-cache-.*"}[1m]))', "load", id="matcher"),
        pytest.param(external(average("1"), name="x"), 'sum(x{queue="mail"}) by (queue)', "load", id="label"),
        pytest.param(external(average("1"), name="x"), 'sum({__name__="queue_length"})', "queue", id="name as a label"),
        pytest.param(external(average("1"), name="x"), 'not_promql(queue_length{pod="duration"}[1m] keep)', "queue", id="another dialect"),
    ],
)  # fmt: skip
def test_the_kind_follows_from_the_name_the_target_and_the_query(metric, query, kind):
    assert kind_of(metric, "", query) == kind


@pytest.mark.parametrize(
    ("metric", "query", "reason"),
    [
        pytest.param(external(average("1"), name="p99_latency"), "", "is a latency", id="name"),
        pytest.param(
            external(average("1"), name="slow"), "histogram_quantile(0.9, x)", "is a latency", id="query"
        ),
        pytest.param(resource(average("1"), name="memory"), "", "is memory", id="memory"),
        pytest.param(external(average("1"), name="mean"), REQUESTS.replace("count", "sum"), "is a latency", id="sum of durations"),
        pytest.param(external(average("1"), name="slow"), "latency_seconds_total / 2", "is a latency", id="no rate"),
        pytest.param(external(average("1"), name="used"), 'sum(jvm_heap_bytes{pod="a"})', "is memory", id="memory in the query"),
        pytest.param(external(value("1"), name="ratio"), "", "no target of type AverageValue", id="value"),
        pytest.param(of_pods(average("1"), name="queue_depth"), "", "a backlog per pod", id="backlog"),
    ],
)  # fmt: skip
def test_what_is_unknown_at_other_replica_counts_is_not_guessed(metric, query, reason):
    found = kind_of(metric, "", query)
    assert isinstance(found, NotReplayable)
    assert reason in found.reason
    assert f"--kind {columns_of(metric)[0]}=load" in found.reason


def test_a_given_kind_counts():
    assert kind_of(external(value("1"), name="p99_latency"), "share") == "share"


def series(*values, step_seconds=60):
    return Series(start_unix_seconds=0, step_seconds=step_seconds, values=values)


def recording(**by_name):
    return Recording(step_seconds=60, series=by_name)


def test_a_replica_serves_nine_sevenths_of_the_target():
    of = autoscaler(spec(of_pods(average("70"), name="requests")))
    (model,) = models_of(of, recording(requests=series(1)), ModelOptions()).by_column.values()
    assert model.served == pytest.approx(90)


def test_what_a_replica_serves_of_a_utilization_follows_from_its_request():
    of = autoscaler(spec(resource(utilization(70))))
    pod = PodSpec(containers=(container("app", cpu="500m"),))
    found = models_of(of, recording(cpu=series(1)), ModelOptions(pod_spec=pod))
    assert found.by_column["cpu"].served == pytest.approx(0.45)
    without = models_of(of, recording(cpu=series(1)), ModelOptions())
    assert "add the target's manifest" in without.not_replayed[0]


def test_the_load_was_there_before_it_could_be_read():
    of = autoscaler(spec(of_pods(average("70"), name="requests")))
    options = ModelOptions(delays={"requests": 120.0})
    model = models_of(of, recording(requests=series(1, 2, 3, 4)), options).main()
    assert [model.load.at(60 * minute) for minute in range(2)] == [3, 4]
    assert model.values.at(120) == 3


def test_a_queue_without_a_known_rate_is_not_replayed():
    of = autoscaler(spec(external(average("10"), name="queue_length")))
    found = models_of(of, recording(queue_length=series(1), replicas=series(1)), ModelOptions())
    assert "--service-rate" in found.not_replayed[0]


def test_the_service_rate_is_the_95th_percentile_of_the_completions_while_the_queue_is_filled():
    of = autoscaler(spec(external(average("10"), name="queue_length")))
    completions = series(*[10.0] * 10, *[2.0] * 5)
    lengths = series(*[60.0] * 10, *[0.0] * 5)
    recorded = {"queue_length": lengths, "queue_length/completions": completions}
    found = models_of(of, recording(**recorded, replicas=series(*[2] * 15)), ModelOptions())
    assert found.main().served == 5
    # While it is filled and does not change, as much arrives as is completed.
    assert found.main().load.values[:8] == (10.0,) * 8


def test_a_share_is_the_load_by_the_number_of_ready_replicas():
    of = autoscaler(spec(external(value("50"), name="utilization")))
    options = ModelOptions(kinds={"utilization": "share"}, delays={"utilization": 0.0})
    recorded = recording(utilization=series(40, 60), replicas=series(2, 3))
    assert models_of(of, recorded, options).main().load.values == (80, 180)


def test_what_pods_use_without_load_does_not_shrink_with_the_load():
    """Each uses 0.1, and each request 0.01."""
    counts, loads = (2, 4, 6, 8, 3, 5), (100, 150, 300, 200, 50, 250)
    use = [0.1 * count + 0.01 * load for count, load in zip(counts, loads, strict=True)]
    idle, words = idle_use(series(*use), series(*loads), series(*counts))
    assert idle == pytest.approx(0.1)
    assert "an idle pod uses 0.1" in words
    assert idle_use(series(*use), series(*loads), series(*[2] * 6))[0] == 0


def formula(expression):
    return MetricSpec(
        type="Formula", name="both", formula=FormulaMetricSource(expression=expression, target=average("1"))
    )  # fmt: skip


def test_what_is_left_out_is_named():
    of = spec(
        named(of_pods(average("70")), "requests"),
        named(external(average("1"), name="p99_latency"), "slow"),
        formula("requests + slow"),
    )
    suspended = autoscaler(replaced(of, suspend=Suspend()))
    recorded = recording(requests=series(1), slow=series(1))
    models = models_of(suspended, recorded, ModelOptions())
    assert [each.name for each in replayable(suspended, recorded, models).spec.metrics] == [
        "requests"
    ]
    assert list(left_out(suspended, recorded, models)) == [
        "the metric slow or p99_latency",
        "the formula both: an input of it cannot be replayed",
        "spec.suspend",
    ]


def test_an_autoscaler_without_any_metric_left_is_refused():
    of = autoscaler(spec(external(average("1"), name="p99_latency")))
    recorded = recording(p99_latency=series(1))
    with pytest.raises(
        ValueError, match="no metric of shop/web can be replayed: p99_latency is a latency"
    ):
        replayable(of, recorded, models_of(of, recorded, ModelOptions()))


def test_a_value_counts_for_five_minutes_and_is_never_taken_from_the_future():
    found = series_of([(0, 1.0), (60, 2.0), (600, 3.0), (601, float("nan"))], 60)
    assert found.values == (1, 2, 2, 2, 2, 2, 2, None, None, None, 3)

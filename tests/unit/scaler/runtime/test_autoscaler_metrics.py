"""Metrics of each autoscaler, as kube-state-metrics has them for HPAs."""

import msgspec

from scaler.algorithm.derivation import Derivation, MetricDerivation
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import AutoscalerStatus, Condition
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.cluster.telemetry import Telemetry
from scaler.extensions import EXTENSIONS
from scaler.extensions.candidate.stage import CandidateStep
from scaler.extensions.forecast.state import ForecastStep, Sums, Verdict
from scaler.runtime.autoscaler_metrics import AutoscalerMetrics
from tests.unit.scaler.objects import (
    NOW,
    autoscaler,
    average,
    external,
    resource,
    spec,
    utilization,
)

LABELS = {"namespace": "shop", "name": "web", "kind": "LoadAutoscaler"}
STATUS = AutoscalerStatus(
    current_replicas=4,
    desired_replicas=7,
    conditions=(
        Condition(type="ScalingActive", status="True"),
        Condition(type="MetricFallbackActive", status="False"),
        Condition(type="AbleToScale", status="Unknown"),
    ),
)
DERIVATION = Derivation(
    autoscaler="shop/web",
    made_at_unix_seconds=NOW,
    branch="Metrics",
    min_replicas=3,
    max_replicas=60,
)


def settings(kind):
    return Settings(kind=kind, extensions=EXTENSIONS)


def sample(
    name, *, kind=LOAD_AUTOSCALERS, status=STATUS, derivation=DERIVATION, labels=None, metrics=()
):
    found = autoscaler(spec(*metrics, min_replicas=None, max_replicas=40), status=status)
    metrics = AutoscalerMetrics(settings(kind), lambda: [found], lambda _: derivation, lambda: None)
    values = [
        each.value
        for family in metrics.collect()
        for each in family.samples
        if each.name == f"loadline_scaler_autoscaler_{name}" and each.labels == (labels or LABELS)
    ]
    return values[0] if values else None


def test_what_changes_after_the_scrape_has_begun_is_not_seen():
    found = [autoscaler(spec(max_replicas=40))]
    families = AutoscalerMetrics(
        settings(LOAD_AUTOSCALERS), lambda: found, lambda _: None, lambda: None
    ).collect()
    found.append(autoscaler(spec(max_replicas=50)))
    assert all(len(family.samples) <= 1 for family in families)


def test_an_autoscaler_whose_sample_fails_hides_no_other_one(caplog):
    web = autoscaler(spec(max_replicas=40))
    found = [
        msgspec.structs.replace(web, metadata=msgspec.structs.replace(web.metadata, name=name))
        for name in ("web", "mail", "shop")
    ]
    broken = msgspec.structs.replace(DERIVATION, steps={"forecast": object()})
    derivations = {"shop/web": broken, "shop/mail": DERIVATION, "shop/shop": broken}
    telemetry = Telemetry()
    metrics = AutoscalerMetrics(
        settings(LOAD_AUTOSCALERS), lambda: found, derivations.get, telemetry.crashes_total.inc
    )
    for _ in range(2):
        families = {family.name: family.samples for family in metrics.collect()}
        for name, names in (("spec_max", "web mail shop"), ("effective_min", "web mail shop")):
            samples = families[f"loadline_scaler_autoscaler_{name}_replicas"]
            assert [each.labels["name"] for each in samples] == names.split()
    gauges = sum("autoscaler_forecast_" in name for name in families)
    assert gauges
    assert telemetry.crashes_total._value.get() == 2 * 2 * gauges
    assert caplog.text.count("Traceback") == gauges, "once for each metric"


def test_an_autoscaler_has_its_limits_and_its_replicas():
    assert (sample("spec_min_replicas"), sample("spec_max_replicas")) == (1, 40)
    assert (sample("effective_min_replicas"), sample("effective_max_replicas")) == (3, 60)
    assert (sample("status_current_replicas"), sample("status_desired_replicas")) == (4, 7)


def test_a_condition_is_one_while_it_is_true():
    found = {
        condition: sample("status_condition", labels={**LABELS, "condition": condition})
        for condition in ("ScalingActive", "MetricFallbackActive", "AbleToScale", "DryRun")
    }
    assert found == {
        "ScalingActive": 1,
        "MetricFallbackActive": 0,
        "AbleToScale": 0,
        "DryRun": None,
    }


QUEUE = MetricDerivation(type="External", value_milli=390_500, proposal=13)
CPU = MetricDerivation(type="Resource", utilization_percent=72, average_milli=360, proposal=5)


def test_what_the_metrics_propose_is_a_sample_beside_what_is_desired():
    derivation = msgspec.structs.replace(DERIVATION, proposed=13)
    assert sample("proposed_replicas", derivation=derivation) == 13
    assert sample("proposed_replicas") is None


def test_each_metric_has_the_value_of_the_last_decision_in_the_unit_of_its_target():
    specs = [
        external(average("30"), name="queue_length"),
        external(average("20"), name="queue_length"),
        resource(utilization(80)),
    ]
    failed = MetricDerivation(type="External", failure="no rows")
    derivation = msgspec.structs.replace(DERIVATION, metrics=(QUEUE, failed, CPU))

    def value(metric, found=derivation):
        labels = {**LABELS, "metric": metric}
        return sample("metric_value", derivation=found, labels=labels, metrics=specs)

    assert value("queue_length") == 390.5
    assert value("queue_length#2") is None
    assert value("cpu") == 72
    second = msgspec.structs.replace(DERIVATION, metrics=(failed, QUEUE))
    assert value("queue_length#2", second) == 390.5


def test_what_is_not_known_yet_is_absent():
    assert sample("status_current_replicas", status=None) is None
    assert sample("effective_min_replicas", derivation=None) is None
    assert sample("spec_max_replicas", status=None, derivation=None) == 40


def test_an_hpa_has_the_labels_of_the_hpa_controller():
    labels = {"namespace": "shop", "hpa_name": "web"}
    found = sample("spec_max_replicas", kind=HORIZONTAL_POD_AUTOSCALERS, labels=labels)
    assert found == 40


FORECAST = ForecastStep(
    metric="load",
    acts=False,
    is_dry_run=True,
    lead_seconds=300.0,
    load=250.0,
    bound=342.0,
    floor=7,
    before=5,
    after=7,
    verdict=Verdict(),
    day=Sums(alone=7200.0, added=300.0, useful=246.0),
)
CANDIDATE = CandidateStep(
    weight_percent=10, step=1, steps=2, is_shadow=False, desired=10, spec_desired=20, result=19
)


def test_a_forecast_has_its_replicas_and_its_worth_also_in_a_dry_run():
    derivation = msgspec.structs.replace(DERIVATION, steps={"forecast": FORECAST})
    expected = {
        "forecast_replicas": 7,
        "forecast_added_replicas": 2,
        "forecast_alone_replica_minutes": 7200,
        "forecast_needed_replica_minutes": 246,
        "forecast_added_replica_minutes": 300,
    }
    assert {name: sample(name, derivation=derivation) for name in expected} == expected


def test_without_a_bound_a_forecast_has_no_replicas():
    without = msgspec.structs.replace(FORECAST, floor=None, bound=None)
    derivation = msgspec.structs.replace(DERIVATION, steps={"forecast": without})
    assert sample("forecast_replicas", derivation=derivation) is None
    assert sample("forecast_alone_replica_minutes", derivation=derivation) == 7200


def test_a_candidate_has_its_share_and_both_counts():
    derivation = msgspec.structs.replace(DERIVATION, steps={"candidate": CANDIDATE})
    expected = {
        "candidate_weight_percent": 10,
        "candidate_replicas": 10,
        "candidate_spec_replicas": 20,
    }
    assert {name: sample(name, derivation=derivation) for name in expected} == expected


def test_without_the_fields_there_are_no_such_metrics():
    assert sample("forecast_alone_replica_minutes") is None
    assert sample("candidate_weight_percent") is None

"""What is reported about one metric: its name, its status, and the layers around an error."""

import pytest

from scaler.algorithm.propose import propose
from scaler.algorithm.readings import ExternalValues, MetricFailed, ObjectValue
from scaler.api.autoscaler import MetricSpec, MetricTarget
from tests.unit.scaler.objects import (
    average,
    container_resource,
    external,
    of_object,
    of_pods,
    resource,
    samples,
    spec,
    utilization,
    value,
    workload,
)
from wire.api.meta import LabelSelector, LabelSelectorRequirement

JOBS = LabelSelector(match_labels={"queue": "jobs"})
WRONG = LabelSelector(match_expressions=[LabelSelectorRequirement(key="k", operator="Like")])
DOWN = MetricFailed("unable to fetch metrics from custom metrics API: down")
TWO = samples({"web-0": 500, "web-1": 700})


def proposed(metric, reading, *, replicas=2, target_pods=None):
    return propose(
        metric, reading, workload(spec(metric), replicas=replicas, target_pods=target_pods)
    )


@pytest.mark.parametrize(
    ("metric", "reading", "name", "current"),
    [
        pytest.param(
            of_pods(average("1")), TWO, "pods metric requests", {"average_value": "600m"}, id="Pods"
        ),
        pytest.param(
            resource(average("1")), TWO, "cpu resource", {"average_value": "600m"}, id="Resource, average"
        ),
        pytest.param(
            resource(utilization(50)),
            TWO,
            "cpu resource utilization (percentage of request)",
            {"average_utilization": 60, "average_value": "600m"},
            id="Resource, utilization",
        ),
        pytest.param(
            container_resource(average("1")),
            TWO,
            "cpu resource",
            {"average_value": "600m"},
            id="ContainerResource, average: named like a Resource",
        ),
        pytest.param(
            container_resource(utilization(50)),
            TWO,
            "cpu container resource utilization (percentage of request)",
            {"average_utilization": 60, "average_value": "600m"},
            id="ContainerResource, utilization",
        ),
        pytest.param(
            resource(average("1Gi"), name="memory"),
            samples({"web-0": 2 * 2**30 * 1000}),
            "memory resource",
            {"average_value": "2Gi"},
            id="memory is binary",
        ),
        pytest.param(
            resource(average("1Gi"), name="memory"),
            samples({"web-0": 1_075_000_000_000}),
            "memory resource",
            {"average_value": "1075M"},
            id="memory that is not a multiple of 1024",
        ),
        pytest.param(
            of_object(value("1")), ObjectValue(1500), "Service metric hits", {"value": "1500m"}, id="Object, value"
        ),
        pytest.param(
            of_object(average("1")),
            ObjectValue(1500),
            "external metric hits(nil)",
            {"average_value": "750m"},
            id="Object, average: upstream calls it external",
        ),
        pytest.param(
            external(value("1")), ExternalValues((1000, 500)), "external metric queue(nil)", {"value": "1500m"}, id="External, value"
        ),
        pytest.param(
            external(average("1"), selector=JOBS),
            ExternalValues((1500,)),
            "external metric queue(&LabelSelector{MatchLabels:map[string]string{queue: jobs,},"
            "MatchExpressions:[]LabelSelectorRequirement{},})",
            {"average_value": "750m"},
            id="External, average, with a selector",
        ),
    ],
)  # fmt: skip
def test_a_metric_has_its_name_and_its_current_value(metric, reading, name, current):
    found = proposed(metric, reading)
    [source] = [
        each
        for field in ("object", "pods", "resource", "container_resource", "external")
        if (each := getattr(found.status, field)) is not None
    ]
    shown = {
        field: amount
        for field in source.current.__struct_fields__
        if (amount := getattr(source.current, field)) is not None
    }
    assert (found.derivation.name, found.status.type, shown) == (name, metric.type, current)


@pytest.mark.parametrize(
    ("metric", "reading", "reason", "message", "error"),
    [
        pytest.param(
            of_pods(average("1")),
            DOWN,
            "FailedGetPodsMetric",
            "unable to get metric requests: unable to fetch metrics from custom metrics API: down",
            "failed to get pods metric value: unable to get metric requests: "
            "unable to fetch metrics from custom metrics API: down",
            id="Pods",
        ),
        pytest.param(
            resource(utilization(50)),
            MetricFailed("no metrics returned from resource metrics API"),
            "FailedGetResourceMetric",
            "failed to get cpu utilization: unable to get metrics for resource cpu: "
            "no metrics returned from resource metrics API",
            "failed to get cpu resource metric value: failed to get cpu utilization: "
            "unable to get metrics for resource cpu: no metrics returned from resource metrics API",
            id="Resource, utilization",
        ),
        pytest.param(
            container_resource(average("1")),
            MetricFailed("no metrics returned from resource metrics API"),
            "FailedGetContainerResourceMetric",
            "failed to get cpu usage: unable to get metrics for resource cpu: "
            "no metrics returned from resource metrics API",
            "failed to get app container metric value: failed to get cpu usage: "
            "unable to get metrics for resource cpu: no metrics returned from resource metrics API",
            id="ContainerResource, average",
        ),
        pytest.param(
            resource(MetricTarget(type="Utilization")),
            TWO,
            "FailedGetResourceMetric",
            "invalid resource metric source: neither an average utilization target "
            "nor an average value (usage) target was set",
            "failed to get cpu resource metric value: invalid resource metric source: "
            "neither an average utilization target nor an average value (usage) target was set",
            id="Resource without a target",
        ),
        pytest.param(
            of_object(value("1")),
            DOWN,
            "FailedGetObjectMetric",
            "unable to get metric hits on Service shop/front: "
            "unable to fetch metrics from custom metrics API: down",
            "failed to get object metric value: unable to get metric hits on Service shop/front: "
            "unable to fetch metrics from custom metrics API: down",
            id="Object, value",
        ),
        pytest.param(
            of_object(average("1")),
            DOWN,
            "FailedGetObjectMetric",
            "unable to get metric hits on Service shop/front: "
            "unable to fetch metrics from custom metrics API: down",
            "failed to get object metric value: failed to get hits object metric: "
            "unable to get metric hits on Service shop/front: "
            "unable to fetch metrics from custom metrics API: down",
            id="Object, average: one more layer in the error only",
        ),
        pytest.param(
            of_object(utilization(50)),
            ObjectValue(1),
            "FailedGetObjectMetric",
            "invalid object metric source: neither a value target nor an average value target was set",
            "failed to get object metric value: invalid object metric source: "
            "neither a value target nor an average value target was set",
            id="Object with a target of another type",
        ),
        pytest.param(
            external(value("1"), selector=JOBS),
            MetricFailed("no metrics returned from external metrics API"),
            "FailedGetExternalMetric",
            "unable to get external metric shop/queue/&LabelSelector{MatchLabels:map[string]string"
            "{queue: jobs,},MatchExpressions:[]LabelSelectorRequirement{},}: "
            "no metrics returned from external metrics API",
            "failed to get queue external metric value: failed to get external metric queue: "
            "unable to get external metric shop/queue/&LabelSelector{MatchLabels:map[string]string"
            "{queue: jobs,},MatchExpressions:[]LabelSelectorRequirement{},}: "
            "no metrics returned from external metrics API",
            id="External, value",
        ),
        pytest.param(
            external(average("1")),
            MetricFailed("no metrics returned from external metrics API"),
            "FailedGetExternalMetric",
            "unable to get external metric shop/queue/nil: "
            "no metrics returned from external metrics API",
            "failed to get queue external metric value: failed to get queue external metric: "
            "unable to get external metric shop/queue/nil: "
            "no metrics returned from external metrics API",
            id="External, average",
        ),
        pytest.param(
            external(average("1"), selector=WRONG),
            ExternalValues((1,)),
            "FailedGetExternalMetric",
            '"Like" is not a valid label selector operator',
            "failed to get queue external metric value: failed to get queue external metric: "
            '"Like" is not a valid label selector operator',
            id="External with a selector that is none",
        ),
        pytest.param(
            MetricSpec(type="CheddarCheese"),
            MetricFailed("never read"),
            "InvalidMetricSourceType",
            'unknown metric source type "CheddarCheese"',
            'unknown metric source type "CheddarCheese"',
            id="an unknown type",
        ),
        pytest.param(
            external(average("much")),
            ExternalValues((1,)),
            "FailedGetExternalMetric",
            None,
            None,
            id="a target that is not a quantity",
        ),
    ],
)
def test_a_failure_is_reported_in_layers(metric, reading, reason, message, error):
    found = proposed(metric, reading)
    assert found.failure is not None
    assert found.failure.reason == reason
    assert found.status.type == ""
    if message is not None:
        assert (found.failure.message, found.failure.error) == (message, error)


@pytest.mark.parametrize(
    ("metric", "reading", "message"),
    [
        pytest.param(
            resource(utilization(50)),
            TWO,
            "failed to get cpu utilization: no pods returned by selector while calculating replica count",
            id="Resource",
        ),
        pytest.param(
            external(value("1")),
            ExternalValues((5000,)),
            "unable to calculate ready pods: no pods returned by selector while calculating replica count",
            id="External value, outside the tolerance",
        ),
    ],
)
def test_no_pods_at_all_fail_a_metric_that_needs_them(metric, reading, message):
    found = proposed(metric, reading, target_pods=())
    assert found.failure is not None
    assert found.failure.message == message


@pytest.mark.parametrize("target", [value("1"), average("1")], ids=["value", "average"])
def test_an_external_metric_within_the_tolerance_needs_no_pods(target):
    amount = 1000 if target.value else 2000
    found = proposed(external(target), ExternalValues((amount,)), target_pods=())
    assert found.derivation.proposal == 2


def test_scaling_down_a_missing_pod_counts_with_its_whole_request():
    """Not just with the target: 20% and three times 100% make 80%, which would even be up."""
    found = proposed(resource(utilization(50)), samples({"web-0": 200}), replicas=4)
    assert found.derivation.fill_in is not None
    assert found.derivation.fill_in.usage_ratio == 1.6
    assert (found.derivation.proposal, found.derivation.kept) == (4, "DirectionChanged")


@pytest.mark.parametrize(
    ("metric", "reading"),
    [
        pytest.param(of_object(average("1")), ObjectValue(8_000), id="Object"),
        pytest.param(external(average("1")), ExternalValues((8_000,)), id="External"),
    ],
)
def test_an_average_over_a_lagging_rollout_proposes_what_is_there(metric, reading):
    found = propose(metric, reading, workload(spec(metric), replicas=10, status_replicas=8))
    assert found.derivation.proposal == 8


@pytest.mark.parametrize(
    ("target", "average_milli"),
    [
        pytest.param(average("10"), 15_000, id="shared by two pods"),
        pytest.param(value("10"), None, id="not shared"),
    ],
)
def test_the_average_of_one_value_is_explained_where_it_is_another_number(target, average_milli):
    derivation = proposed(external(target), ExternalValues((30_000,))).derivation
    assert (derivation.value_milli, derivation.average_milli) == (30_000, average_milli)

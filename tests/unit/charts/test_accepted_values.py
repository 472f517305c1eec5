"""Values that a chart accepts, and what it makes of them, so that neither Helm nor kube-apiserver refuses the objects later."""

import pytest


@pytest.mark.parametrize("enabled", [True, False])
def test_a_parent_chart_may_have_its_condition_among_the_values(chart, enabled):
    """Helm passes `loadline-adapter.enabled` to the subchart too."""
    assert chart.render({"enabled": enabled}).manifests == chart.render().manifests


def test_the_condition_of_a_parent_chart_is_a_boolean(chart, refused):
    with pytest.raises(refused, match="enabled"):
        chart.render({"enabled": "no"})


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("grafanaDashboard", "labels"),
        ("grafanaDashboard", "annotations"),
        ("prometheusRule", "labels"),
    ],
)
def test_labels_and_annotations_of_monitoring_objects_are_text(chart, refused, section, name):
    """kube-apiserver refuses numbers and booleans."""
    with pytest.raises(refused, match=name):
        chart.render({section: {"enabled": True, name: {"a": 1}}})
    chart.render({section: {"enabled": True, name: {"a": "1"}}})


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_number_of_available_pods_leaves_the_unavailable_ones(chart, empty):
    budget = {"enabled": True, "minAvailable": empty, "maxUnavailable": "50%"}
    spec = chart.render({"podDisruptionBudget": budget}).one("PodDisruptionBudget")["spec"]
    assert "minAvailable" not in spec
    assert spec["maxUnavailable"] == "50%"


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_number_of_unavailable_pods_is_the_default(chart, empty):
    budget = {"enabled": True, "maxUnavailable": empty}
    spec = chart.render({"podDisruptionBudget": budget}).one("PodDisruptionBudget")["spec"]
    assert spec["maxUnavailable"] == 1


def test_no_pod_needs_to_be_available(chart):
    budget = {"enabled": True, "minAvailable": 0}
    spec = chart.render({"podDisruptionBudget": budget}).one("PodDisruptionBudget")["spec"]
    assert spec["minAvailable"] == 0

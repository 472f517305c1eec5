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

"""A configuration of the adapter as values of its chart."""

import pytest

from kubectl_loadline.migration.chart_values import chart_values, is_configuration

RULE = {"seriesQuery": "x"}


def test_each_list_of_the_configuration_has_a_value_of_the_chart():
    configuration = {
        "rules": [RULE],
        "externalRules": [RULE],
        "resourceRules": {"cpu": {}},
        "metrics": [{"name": "queue", "query": "sum(queue)"}],
    }
    assert chart_values(configuration) == {
        "rules": {
            "default": False,
            "custom": [RULE],
            "external": [RULE],
            "resource": {"cpu": {}},
            "metrics": [{"name": "queue", "query": "sum(queue)"}],
        }
    }


def test_without_the_lists_only_the_default_rules_are_turned_off():
    assert chart_values({"metrics": []}) == {"rules": {"default": False, "metrics": []}}


def test_what_the_chart_has_no_value_for_is_refused_with_the_alternative():
    with pytest.raises(ValueError, match=r"no value for backends: .* rules\.existing"):
        chart_values({"metrics": [], "backends": []})


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"rules": []}, True),
        ({"externalRules": []}, True),
        ({"kind": "ClusterRole", "rules": []}, False),
        ({"name": "x"}, False),
        ("rules", False),
        (None, False),
    ],
)
def test_a_configuration_is_known_by_its_lists(document, expected):
    assert is_configuration(document) == expected

"""A configuration of the adapter as values of its chart."""

import pytest

from kubectl_loadline.migration.chart_values import chart_values, is_configuration, keys_of_values

RULE = {"seriesQuery": "x"}


def test_each_list_of_the_configuration_has_a_value_of_the_chart():
    configuration = {
        "rules": [RULE],
        "externalRules": [RULE],
        "resourceRules": {"cpu": {}},
        "metrics": [{"name": "queue", "query": "sum(queue)"}],
    }
    assert chart_values(configuration, is_complete=True) == {
        "rules": {
            "default": False,
            "custom": [RULE],
            "external": [RULE],
            "resource": {"cpu": {}},
            "metrics": [{"name": "queue", "query": "sum(queue)"}],
        }
    }


@pytest.mark.parametrize("is_complete", [True, False])
def test_no_value_has_a_key_that_is_not_listed(is_complete):
    configuration = {"metrics": []}
    if is_complete:
        configuration |= {"rules": [], "externalRules": [], "resourceRules": {}}
    found = chart_values(configuration, is_complete=is_complete)["rules"]
    assert {f"rules.{name}" for name in found} == set(keys_of_values(is_complete=is_complete))


@pytest.mark.parametrize(("is_complete", "turned_off"), [(True, {"default": False}), (False, {})])
def test_the_default_rules_are_turned_off_only_by_a_complete_configuration(is_complete, turned_off):
    values = chart_values({"metrics": []}, is_complete=is_complete)
    assert values == {"rules": {"metrics": [], **turned_off}}


def test_what_the_chart_has_no_value_for_is_refused_with_the_alternative():
    with pytest.raises(ValueError, match=r"no value for backends: .* rules\.existing"):
        chart_values({"metrics": [], "backends": []}, is_complete=True)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"rules": []}, True),
        ({"externalRules": []}, True),
        ({"kind": "ClusterRole", "rules": []}, False),
        ({"rules": None}, False),
        ({"rules": [RULE], "future": 1}, True),
        ({"metrics": [{"name": "a", "query": "b"}], "backends": []}, True),
        ({"resourceRules": {"cpu": {}}}, True),
        ({"metrics": {"enabled": True}}, False),
        ({"server": {}, "rules": []}, False),
        ({"rules": [{"alert": "Down", "expr": "up == 0"}]}, False),
        ({"rules": ["a"]}, False),
        ({"rules": [RULE], "metrics": True}, False),
        ({"name": "x"}, False),
        ("rules", False),
        (None, False),
    ],
)
def test_a_configuration_is_known_by_its_lists(document, expected):
    assert is_configuration(document) == expected

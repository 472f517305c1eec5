"""A label that names objects makes a metric of them: however many such labels a pod exposes, the table stays small."""

import pytest

from adapter.config import parse
from adapter.model import BackendRef, Series
from adapter.promql.naming import NAME_LENGTH_MAX
from adapter.promql.rule_series import RESOURCES_MAX
from adapter.promql.series_offers import ENTRIES_MAX, Offers, offers
from tests.fakes.adapter import FakeMapping, Kind

OF_EVERYONE = ("pod", "namespace", "service", "node")
OTHERS = tuple(f"kind{number:02d}" for number in range(40))
MAPPING = FakeMapping([Kind(f"{each}s", each, each.title()) for each in (*OF_EVERYONE, *OTHERS)])

RULES = """
rules:
- seriesQuery: web
  resources: {template: "<<.Resource>>", overrides: {zebra: {resource: kind39}}}
  metricsQuery: <<.Series>>
- seriesQuery: other
  resources: {template: "<<.Resource>>"}
  metricsQuery: <<.Series>>
"""


def table(entries_max: int = ENTRIES_MAX, rules: str = RULES, **series: list[Series]) -> Offers:
    known = {(BackendRef(), query): found for query, found in series.items()}
    return offers(parse(rules).rules, known, MAPPING, entries_max=entries_max)


def resources(found: Offers, metric: str) -> set[str]:
    return {str(each.resource) for each in found.custom if each.metric == metric}


def problems(found: Offers, rule: str) -> str:
    return "; ".join(found.problems.get(rule, ()))


def test_a_series_makes_metrics_of_all_resources_that_its_labels_name_while_there_is_a_place():
    labels = frozenset({*OF_EVERYONE, *OTHERS})
    found = table(web=[Series("many", labels)])
    assert resources(found, "many") == {f"{each}s" for each in labels}
    assert found.problems == {}


@pytest.mark.deviation("many-resources")
def test_the_series_of_a_rule_with_too_many_metrics_are_those_of_a_limited_number_of_resources():
    labels = frozenset({*OF_EVERYONE, *OTHERS, "zebra"})
    found = table(40, web=[Series("hostile", labels)])
    # The override first, then what most metrics describe, then the labels in their order.
    of_labels = OTHERS[: RESOURCES_MAX - len(OF_EVERYONE) - 1]
    expected = {"kind39s", *(f"{each}s" for each in (*OF_EVERYONE, *of_labels))}
    assert resources(found, "hostile") == expected
    assert len(expected) == RESOURCES_MAX


def test_overrides_are_never_left_out():
    overrides = ", ".join(f"{each}: {{resource: {each}}}" for each in OTHERS)
    rules = f"rules: [{{seriesQuery: web, resources: {{overrides: {{{overrides}}}}}, metricsQuery: up}}]"
    found = table(rules=rules, web=[Series("mine", frozenset(OTHERS))])
    assert resources(found, "mine") == {f"{each}s" for each in OTHERS}
    assert found.problems == {}


def test_what_is_left_out_is_reported_once_for_a_rule_and_says_what_to_do():
    labels = frozenset({*OF_EVERYONE, *OTHERS})
    found = table(1_700, web=[Series(f"hostile_{number}", labels) for number in range(100)])
    [problem] = found.problems["rules[0]"]
    assert "this one more than its share, so 100 series are metrics of 16 resources" in problem
    assert "hostile_0" in problem
    assert "`resources.overrides`" in problem
    assert len(problem) < 600


def test_what_a_series_with_few_labels_describes_is_not_affected_by_others():
    found = table(
        web=[
            Series("hostile", frozenset(OTHERS)),
            Series("honest", frozenset({*OF_EVERYONE, "code", "kind30"})),
        ]
    )
    assert resources(found, "honest") == {"pods", "namespaces", "services", "nodes", "kind30s"}


@pytest.mark.deviation("many-resources")
def test_beyond_the_limit_of_the_table_each_series_describes_fewer_resources_and_none_is_lost():
    hostile = [Series(f"hostile_{number}", frozenset(OTHERS)) for number in range(10)]
    found = table(60, web=hostile, other=[Series("honest", frozenset(OF_EVERYONE))])
    assert len(found.custom) <= 60
    assert resources(found, "honest") == {"pods", "namespaces", "services", "nodes"}
    assert {each.metric for each in found.custom} == {"honest", *(each.name for each in hostile)}
    assert "metrics of 4 resources" in problems(found, "rules[0]")
    assert "more than 60 metrics" in problems(found, "rules[0]")
    assert "rules[1]" not in found.problems


@pytest.mark.deviation("many-resources")
def test_a_rule_with_more_metrics_than_its_share_lacks_them_and_others_lack_none():
    hostile = [Series(f"hostile_{number:03d}", frozenset({"pod"})) for number in range(100)]
    honest = [Series("honest", frozenset(OF_EVERYONE))]
    for web, other in ((hostile, honest), (honest, hostile)):
        found = table(60, web=web, other=other)
        assert len(found.custom) == 60
        assert resources(found, "honest") == {"pods", "namespaces", "services", "nodes"}
        [(_, [problem])] = found.problems.items()
        assert "44 series cannot be requested" in problem
        assert "matchers" in problem


@pytest.mark.parametrize("count", [21, 61])
def test_the_metrics_of_a_rule_keep_their_resources_however_many_another_rule_has(count):
    hostile = [Series(f"hostile_{number}", frozenset(OTHERS)) for number in range(count)]
    found = table(60, web=hostile, other=[Series("honest", frozenset(OF_EVERYONE))])
    assert resources(found, "honest") == {"pods", "namespaces", "services", "nodes"}
    assert found.problems.keys() == {"rules[0]"}


def test_a_metric_counts_once_for_each_resource_however_many_labels_its_series_have():
    same = [Series("mine", frozenset({*OF_EVERYONE, f"code_{number}"})) for number in range(100)]
    found = table(8, web=same, other=[Series("honest", frozenset(OF_EVERYONE))])
    assert len(found.custom) == 8
    assert found.problems == {}


def test_external_metrics_share_the_places_of_all_rules():
    rules = RULES + "externalRules: [{seriesQuery: jobs, metricsQuery: <<.Series>>}]"
    hostile = [Series(f"hostile_{number}") for number in range(100)]
    found = table(60, rules, jobs=hostile, other=[Series("honest", frozenset(OF_EVERYONE))])
    assert len(found.external) == 56
    assert resources(found, "honest") == {"pods", "namespaces", "services", "nodes"}
    assert "44 series" in problems(found, "externalRules[0]")


def test_a_long_name_takes_the_place_of_several():
    long = [Series(f"{number:03d}".rjust(256, "a"), frozenset({"pod"})) for number in range(100)]
    assert len(table(60, web=long).custom) == 15


@pytest.mark.deviation("unsafe-names")
def test_a_series_whose_name_is_too_long_is_not_offered_and_the_log_shows_its_beginning():
    names = ["a" * NAME_LENGTH_MAX, "b" * (NAME_LENGTH_MAX + 1)]
    found = table(web=[Series(each, frozenset({"pod"})) for each in names])
    assert {each.metric for each in found.custom} == {names[0]}
    [problem] = found.problems["rules[0]"]
    assert problem.startswith("1 series have names of more than 256 characters")
    assert "bbb..." in problem
    assert len(problem) < 300


def test_named_metrics_have_a_place_in_a_full_table():
    rules = RULES + "metrics: [{name: mine, describes: pods, query: up}]"
    hostile = [Series(f"hostile_{number}", frozenset({"pod"})) for number in range(100)]
    found = table(60, rules, web=hostile)
    assert resources(found, "mine") == {"pods"}

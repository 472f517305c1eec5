"""A metric that does not exist, compared with what the rules yield."""

import difflib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from adapter.model import DiscoveryRule, ListedRule, Rule, Series
from adapter.promql.metric_query import QueryNotBuilt
from adapter.promql.naming import NAME_LENGTH_MAX, series_metric
from adapter.promql.regex import pattern
from adapter.promql.selectors import selectors

NAME: Final = "__name__"
SIMILAR_MAX: Final = 5
SIMILARITY_MIN: Final = 0.6
COMPARED_MAX: Final = 50
"""Names that are compared in full: `difflib` takes half a second for 20,000."""

# What rules usually remove from a name (the default rules of the prometheus-community chart among them).
_SUFFIXES: Final = ("", "_total", "_seconds_total", "_count", "_sum", "_bucket")
_PREFIXES: Final = ("", "container_")
_STEM: Final = ("_per_second", "_per_minute", "_rate")


class Source(msgspec.Struct, frozen=True):
    """A rule that would serve a metric if there were a series with this name."""

    rule: DiscoveryRule
    series: str


def made_of(
    listed: Sequence[ListedRule], metric: str, *, external: bool
) -> list[tuple[DiscoveryRule, Series]]:
    """The existing series that a rule gives this name, whatever resource they describe."""
    return [
        (each.rule, series)
        for each in listed
        if isinstance(each.rule, DiscoveryRule) and each.rule.external == external
        for series in each.series or ()
        if series_metric(each.rule, series.name) == metric
    ]


def sources(rules: Sequence[Rule], metric: str, *, external: bool) -> list[Source]:
    """The rules that would yield the metric from a series that does not exist, with the series' name where it is known."""
    return [
        Source(rule, name)
        for rule in rules
        if isinstance(rule, DiscoveryRule) and rule.external == external
        for name in _candidates(rule, metric)
    ]


def likely_series_names(metric: str) -> tuple[str, ...]:
    """Names that the series of a metric with this name may have in Prometheus."""
    stems = [metric, *(metric.removesuffix(end) for end in _STEM if metric.endswith(end))]
    return tuple(dict.fromkeys(f"{stem}{suffix}" for stem in stems for suffix in ("", "_total")))


def similar(metric: str, names: Iterable[str]) -> list[str]:
    """The names of metrics that are similar, the most similar one first; none for a metric with a very long name."""
    if len(metric) > NAME_LENGTH_MAX:
        return []
    pairs = set(pairwise(metric))
    likely = heapq.nlargest(COMPARED_MAX, names, key=lambda name: _likeness(pairs, name))
    return difflib.get_close_matches(metric, likely, n=SIMILAR_MAX, cutoff=SIMILARITY_MIN)


def _likeness(pairs: set[tuple[str, str]], name: str) -> float:
    """The share of pairs of characters that both have: a hundred times faster than `difflib`, and almost the same order."""
    return len(pairs.intersection(pairwise(name))) / max(1, len(pairs) + len(name))


def _candidates(rule: DiscoveryRule, metric: str) -> Iterator[str]:
    """Series names that the rule's selector matches and its naming turns into the metric."""
    conditions = _name_conditions(rule.series_query)
    named = [value for operator, value in conditions if operator == "="]
    guesses = [
        f"{prefix}{stem}{suffix}"
        for stem in (metric, *(metric.removesuffix(end) for end in _STEM if metric.endswith(end)))
        for prefix in _PREFIXES
        for suffix in _SUFFIXES
    ]
    for name in dict.fromkeys([*named, *guesses]):
        if _allowed(name, conditions) and series_metric(rule, name) == metric:
            yield name
            return


def _name_conditions(series_query: str) -> list[tuple[str, str]]:
    try:
        found = selectors(series_query)
    except QueryNotBuilt:
        return []
    return [
        (operator, value) for label, operator, value in (found[0] if found else ()) if label == NAME
    ]


def _allowed(name: str, conditions: Sequence[tuple[str, str]]) -> bool:
    return all(_holds(name, operator, value) for operator, value in conditions)


def _holds(name: str, operator: str, value: str) -> bool:
    if operator in ("=", "!="):
        return (name == value) == (operator == "=")
    try:
        matched = pattern(f"^(?:{value})$").search(name) is not None
    except ValueError:
        return False
    return matched == (operator == "=~")

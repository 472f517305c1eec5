"""Matchers and query templates to PromQL text, as prometheus-adapter writes it.

After prometheus-adapter v0.12.0 pkg/naming/metrics_query.go and pkg/client/helpers.go. Values are quoted by Go's `%q`,
which PromQL reads back; values of a regular expression matcher are not escaped, so that in
prometheus-adapter a selector such as `app in (web.*)` may be an expression.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from adapter.templates import Record, compiled
from wire.api.labels import Operator, Requirement, Selector
from wire.api.quoting import go_quote

QUERY_FIELDS: Final = ("Series", "LabelMatchers", "LabelValuesByName", "GroupBy", "GroupBySlice")
"""The template fields of `metricsQuery`."""


_UNQUOTABLE: Final = re.compile(r"[\"'`\\{}\x00-\x1f]")


class QueryNotBuilt(ValueError):
    """A selector has no PromQL form, or the template does not render to a query.

    `public` is the text for those who may not read the configuration, if that differs: without the query.
    """

    def __init__(self, text: str, *, public: str = "") -> None:
        super().__init__(text)
        self.public = public or text


class Matcher(msgspec.Struct, frozen=True):
    """One label matcher; `operator` is `=`, `!=`, `=~` or `!~`."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.label}{self.operator}{go_quote(self.value)}"


def equals(label: str, value: str) -> Matcher:
    """`label="value"`."""
    return Matcher(label, "=", value)


def matcher(requirement: Requirement) -> Matcher:
    """A selector's requirement as a matcher; raises `QueryNotBuilt` for `<` and `>`, which PromQL labels do not have."""
    joined = "|".join(requirement.values)
    several = len(requirement.values) > 1
    match requirement.operator:
        case Operator.EXISTS:
            return Matcher(requirement.key, "!=", "")
        case Operator.DOES_NOT_EXIST:
            return Matcher(requirement.key, "=", "")
        case Operator.EQUALS | Operator.DOUBLE_EQUALS:
            return Matcher(requirement.key, "=~" if several else "=", joined)
        case Operator.NOT_EQUALS:
            return Matcher(requirement.key, "!~" if several else "!=", joined)
        case Operator.IN:
            return Matcher(requirement.key, "=~", joined)
        case Operator.NOT_IN:
            return Matcher(requirement.key, "!~", joined)
    raise QueryNotBuilt(
        f"label {requirement.key!r}: Prometheus compares labels as text, so `<` and `>` are not possible; use `in`"
    )


def selector_matchers(selector: Selector) -> list[Matcher]:
    """One matcher per requirement, in the selector's order (by key)."""
    return [matcher(requirement) for requirement in selector.requirements]


def custom_query(
    template: str,
    *,
    series: str,
    selector: Selector,
    namespace: Matcher | None,
    object_label: str,
    names: Sequence[str],
    extra_group_by: Sequence[str] = (),
) -> str:
    """The query for objects by name: selector, then namespace, then `=` for one name and `=~` for several.

    Raises `QueryNotBuilt`.
    """
    joined = "|".join(names)
    found = selector_matchers(selector) + ([namespace] if namespace else [])
    objects = Matcher(object_label, "=~" if len(names) > 1 else "=", joined)
    return rendered_query(
        template,
        series=series,
        matchers=[*found, objects],
        group_by=(object_label, *extra_group_by),
    )


def external_query(
    template: str, *, series: str, selector: Selector, namespace: Matcher | None
) -> str:
    """The query for an external metric: selector, then namespace; nothing to group by. Raises `QueryNotBuilt`."""
    found = selector_matchers(selector) + ([namespace] if namespace else [])
    return rendered_query(template, series=series, matchers=found, group_by=())


def rendered_query(
    template: str, *, series: str, matchers: Sequence[Matcher], group_by: Sequence[str]
) -> str:
    """The text of a template with these matchers and group labels. Raises `QueryNotBuilt`."""
    argument = Record(
        {
            "Series": series,
            "LabelMatchers": ",".join(map(str, matchers)),
            "LabelValuesByName": _values_by_name(matchers),
            "GroupBy": ",".join(group_by),
            "GroupBySlice": tuple(group_by),
        }
    )
    try:
        query = compiled(template).execute(argument)
    except ValueError as e:
        raise QueryNotBuilt(
            f"the query template cannot be rendered: {e}",
            public="the query template cannot be rendered",
        ) from None
    if not query:
        raise QueryNotBuilt("the query template renders to an empty string")
    return query


class _RawValues(Mapping[str, str]):
    """`.LabelValuesByName`: raw values, which the template puts into quotes of its own.

    A value that could end them, and change the query, cannot be read. Names of Kubernetes objects never have such
    characters, but the path of a request may.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def __getitem__(self, label: str) -> str:
        value = self._values[label]
        if _UNQUOTABLE.search(value):
            raise QueryNotBuilt(
                f"it inserts the value {value!r} of the label {label!r} unquoted (.LabelValuesByName), and a character in "
                "it could change the query: write <<.LabelMatchers>> instead"
            )
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _values_by_name(matchers: Sequence[Matcher]) -> Mapping[str, str]:
    """Label to its values joined with `|`; of a label that is matched twice, the later values."""
    return _RawValues({each.label: each.value for each in matchers})

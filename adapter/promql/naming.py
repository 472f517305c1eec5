"""Series names to metric names, and labels to resources and back: prometheus-adapter's naming rules.

After prometheus-adapter v0.12.0 pkg/naming (metric_namer.go, resource_converter.go, lbl_res.go) and Go's
`Regexp.Expand`. Regular expressions are RE2, as there: the same syntax, and no pattern can be made to hang.
"""

import unicodedata
from functools import lru_cache
from typing import Final

from adapter.model import (
    DiscoveryRule,
    GroupResource,
    ResourceLabels,
    ResourceMapping,
    SeriesFilter,
    UnknownResource,
)
from adapter.promql.regex import Match, Pattern, pattern
from adapter.templates import Record, compiled

TEMPLATE_FIELDS: Final = ("Group", "Resource")
"""The template fields of `resources.template`."""

NAME_LENGTH_MAX: Final = 256
"""Characters of a name of series or metrics; longer ones are neither offered nor compared with others."""

_GROUP_TO_LABEL: Final = str.maketrans(".-", "__")


class NoLabel(LookupError):
    """A rule maps no label to a resource, so its objects cannot be distinguished in Prometheus."""

    def __init__(self, resource: GroupResource, cause: str) -> None:
        self.resource = resource
        super().__init__(f"no label names {resource}: {cause}")


# --- series names -----------------------------------------------------------------------------------------------------


def series_metric(rule: DiscoveryRule, series_name: str) -> str | None:
    """The metric name of a series of the rule; None when a filter or `name.matches` excludes it."""
    return _series_metric(rule.series_filters, rule.name_matches, rule.name_as, series_name)


@lru_cache(
    maxsize=50_000
)  # the same names occur in every listing, and with each of their label sets
def _series_metric(
    filters: tuple[SeriesFilter, ...], matches: str, as_: str, series_name: str
) -> str | None:
    for each in filters:
        if (pattern(each.pattern).search(series_name) is not None) != each.positive:
            return None
    match = pattern(matches).search(series_name)
    return None if match is None else expand(as_, match)


def expand(template: str, match: Match) -> str:
    """Go's `Regexp.Expand`: `$1`, `${name}`, `$$`; a name is the longest run of letters, digits and `_`.

    So `$1_x` is the group called `1_x`, which does not exist and is empty: write `${1}_x`.
    """
    out, rest = [], template
    while True:
        before, dollar, rest = rest.partition("$")
        out.append(before)
        if not dollar:
            return "".join(out)
        if rest.startswith("$"):
            out.append("$")
            rest = rest[1:]
            continue
        length, name = _reference(rest)
        out.append(_group(match, name) if name else "$")
        rest = rest[length:]


def _reference(text: str) -> tuple[int, str]:
    """The length and the name of the reference at the start of `text`, braced or not; an empty name when malformed."""
    braced = text.startswith("{")
    begin = end = 1 if braced else 0
    while end < len(text) and _is_name_character(text[end]):
        end += 1
    if end == begin or (braced and text[end : end + 1] != "}"):
        return 0, ""
    return end + (1 if braced else 0), text[begin:end]


def _is_name_character(character: str) -> bool:
    category = unicodedata.category(character)
    return character == "_" or category.startswith("L") or category == "Nd"


def _group(match: Match, name: str) -> str:
    """A group by number (no leading zeros) or name; empty when it does not exist or did not match."""
    if name.isascii() and name.isdigit() and (name == "0" or name[0] != "0"):
        number = int(name) if len(name) < 10 else -1
    else:
        number = match.re.groupindex.get(name, -1)
    return (match.group(number) or "") if 0 <= number <= match.re.groups else ""


# --- labels and resources ---------------------------------------------------------------------------------------------


def label_pattern(template: str) -> Pattern:
    """The inverse of the template: a pattern that reads `resource` and `group` from a label; raises `ValueError`."""
    reading = Record({"Group": "(?P<group>.+?)", "Resource": "(?P<resource>.+?)"})
    text = compiled(template).execute(reading)
    found = pattern(f"^{text}$")
    if "resource" not in found.groupindex:
        raise ValueError(
            "the template must contain <<.Resource>>, or no label could be mapped to a resource"
        )
    return found


class ResourceConverter:
    """Labels of one rule's series to resources of the cluster, and back. Results are kept; nothing is awaited."""

    def __init__(self, labels: ResourceLabels, mapping: ResourceMapping) -> None:
        self._template = labels.template
        self._mapping = mapping
        self._resource_of: dict[str, GroupResource | None] = {}
        self._label_of: dict[GroupResource, str] = {}
        self.unknown: list[tuple[str, GroupResource]] = []
        """Overrides that name a resource which the cluster does not have: (label, resource). They are ignored."""
        for label, named in labels.overrides:
            try:
                resource = mapping.resource_for(named)
            except UnknownResource:
                self.unknown.append((label, named))
                continue
            self._resource_of[label] = resource
            self._label_of[resource] = label

    def label_for(self, resource: GroupResource) -> str:
        """The label that names objects of a canonical resource; raises `NoLabel`."""
        if resource not in self._label_of:
            self._label_of[resource] = self._label_from_template(resource)
        return self._label_of[resource]

    def _label_from_template(self, resource: GroupResource) -> str:
        if not self._template:
            raise NoLabel(resource, "the rule has no `resources.template` and no override for it")
        singular = self._mapping.singular(resource.resource)
        argument = Record(
            {"Group": resource.group.translate(_GROUP_TO_LABEL), "Resource": singular}
        )
        try:
            label = compiled(self._template).execute(argument)
        except ValueError as e:
            raise NoLabel(resource, f"`resources.template` cannot be rendered: {e}") from None
        if not label:
            raise NoLabel(
                resource, "`resources.template` renders to an empty string for this resource"
            )
        return label

    def resource_for(self, label: str) -> GroupResource | None:
        """The canonical resource whose objects a label names, or None for an ordinary label."""
        if label not in self._resource_of:
            self._resource_of[label] = self._resource_from_template(label)
        return self._resource_of[label]

    def _resource_from_template(self, label: str) -> GroupResource | None:
        match = label_pattern(self._template).search(label) if self._template else None
        if match is None:
            return None
        groups = match.re.groupindex
        group = match.group(groups["group"]) or "" if "group" in groups else ""
        try:
            return self._mapping.resource_for(
                GroupResource(match.group(groups["resource"]) or "", group)
            )
        except UnknownResource:
            return None

    def is_listed_as_namespaced(self, resource: GroupResource) -> bool:
        """Whether discovery lists metrics of a canonical resource as namespaced, which is as the cluster does."""
        try:
            return self._mapping.is_namespaced(resource)
        except UnknownResource:
            return True

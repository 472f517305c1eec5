"""`rules`, `externalRules` and `resourceRules`: prometheus-adapter's part of the file."""

from adapter.config.backends import read_backend_ref
from adapter.config.document import Block
from adapter.config.problems import ProblemCode
from adapter.config.signal_block import DISCOVERED_CUSTOM, DISCOVERED_EXTERNAL, read_contract
from adapter.config.texts import (
    read_label_template,
    read_pattern,
    read_query_template,
    selector_problem,
)
from adapter.model import (
    Backend,
    DiscoveryRule,
    GroupResource,
    ResourceLabels,
    ResourceRule,
    ResourceRules,
    SeriesFilter,
)


def read_rule(block: Block, *, external: bool, backends: tuple[Backend, ...]) -> DiscoveryRule:
    """One rule; its problems are reported to the block."""
    name_matches, name_as = _read_name(block)
    filters = [
        each
        for filter_block in block.blocks("seriesFilters")
        if (each := _read_filter(filter_block))
    ]
    if name_matches:
        filters.append(SeriesFilter(name_matches, positive=True))
    rule = DiscoveryRule(
        path=block.path,
        external=external,
        series_query=_read_series_query(block),
        series_filters=tuple(filters),
        resources=read_resources(block, external=external),
        name_matches=name_matches or ".*",
        name_as=name_as,
        metrics_query=read_query_template(block, "metricsQuery"),
        backend=read_backend_ref(block, backends),
        contract=read_contract(block, DISCOVERED_EXTERNAL if external else DISCOVERED_CUSTOM),
    )
    block.close()
    return rule


def _read_series_query(block: Block) -> str:
    text = block.required_text(
        "seriesQuery", 'Add a series selector, such as \'{__name__=~"^http_.*",namespace!=""}\'.'
    )
    if text and (problem := selector_problem(text)):
        block.warning(
            ProblemCode.INVALID_SELECTOR,
            "seriesQuery",
            f"{text!r} cannot be parsed as a selector: {problem}",
            'Write something like \'{__name__=~"^http_.*",namespace!=""}\'.',
        )
    return text


def _read_filter(block: Block) -> SeriesFilter | None:
    """Exactly one of `is` and `isNot`."""
    wanted, unwanted = block.text("is"), block.text("isNot")
    block.close()
    if bool(wanted) == bool(unwanted):
        fault = "both `is` and `isNot` are given" if wanted else "neither `is` nor `isNot` is given"
        block.error(
            ProblemCode.INVALID_FILTER,
            "",
            f"{fault} in a filter",
            "Write exactly one of them; all filters of a list must match.",
        )
        return None
    name = "is" if wanted else "isNot"
    if read_pattern(block, name, wanted or unwanted) is None:
        return None
    return SeriesFilter(wanted or unwanted, positive=bool(wanted))


def _read_name(rule: Block) -> tuple[str, str]:
    """`name.matches` ("" for any) and `name.as`, by default the only group, or the whole match without groups."""
    block = rule.block("name")
    matches, as_ = block.text("matches"), block.text("as")
    block.close()
    found = read_pattern(block, "matches", matches) if matches else None
    groups = found.groups if found is not None else 0
    if as_:
        return matches, as_
    if groups > 1:
        block.error(
            ProblemCode.AMBIGUOUS_NAME,
            "as",
            f"`matches` has {groups} groups, so `as` must say which of them make the name",
            'Add `as`, for example "${1}_per_second".',
        )
    return matches, "$1" if groups == 1 else "$0"


def read_resources(rule: Block, *, external: bool) -> ResourceLabels:
    """`resources`: by a template, by overrides, or both."""
    block = rule.block("resources")
    overrides = block.block("overrides")
    found = []
    for label in overrides.names():
        each = overrides.block(label)
        resource = GroupResource(
            each.required_text("resource", "Add `resource: pod`."), each.text("group")
        )
        each.close()
        found.append((label, resource))
    labels = ResourceLabels(
        template=read_label_template(block, "template"),
        overrides=tuple(found),
        namespaced=block.boolean("namespaced", default=True),
    )
    if not external and not labels.namespaced:
        block.warning(
            ProblemCode.NO_EFFECT,
            "namespaced",
            "`namespaced` has no effect here",
            "It is for `externalRules`; delete it.",
        )
    if not external and not labels.template and not labels.overrides:
        fix = 'Add `resources: {template: "<<.Resource>>"}` or `overrides`.'
        rule.warning(
            ProblemCode.NO_RESOURCES,
            "resources",
            "no label is mapped to a resource, so no metric of the rule can be requested",
            fix,
        )
    block.close()
    return labels


def read_resource_rules(top: Block, backends: tuple[Backend, ...]) -> ResourceRules | None:
    """`resourceRules`, or None without the block."""
    if not top.has("resourceRules"):
        return None
    block = top.block("resourceRules")
    rules = ResourceRules(
        cpu=_read_resource_rule(block.block("cpu")),
        memory=_read_resource_rule(block.block("memory")),
        window_seconds=block.seconds_from_zero("window"),
        backend=read_backend_ref(block, backends),
    )
    block.close()
    return rules


def _read_resource_rule(block: Block) -> ResourceRule:
    rule = ResourceRule(
        path=block.path,
        container_query=read_query_template(block, "containerQuery"),
        node_query=read_query_template(block, "nodeQuery"),
        resources=read_resources(block, external=False),
        container_label=block.text("containerLabel"),
    )
    if not rule.container_label:
        block.warning(
            ProblemCode.NO_CONTAINER_LABEL,
            "containerLabel",
            "no label names the container",
            "Add `containerLabel: container`.",
        )
    block.close()
    return rule

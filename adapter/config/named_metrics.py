"""`metrics`: the part of the file that is Loadline's own, metrics with explicit queries."""

from typing import Final

import promql_parser

from adapter.config.backends import read_backend_ref
from adapter.config.document import Block
from adapter.config.problems import ProblemCode
from adapter.config.signal_block import NAMED, read_contract
from adapter.config.texts import UNKNOWN_FUNCTION, promql_problem, read_template
from adapter.model import Backend, GroupResource, NamedRule
from adapter.promql.named_query import NAMED_FIELDS, named_query
from wire.api.labels import EVERYTHING

_CLUSTER_SCOPED: Final = {
    "nodes",
    "node",
    "namespaces",
    "namespace",
    "persistentvolumes",
    "persistentvolume",
}


def default_labels(describes: GroupResource) -> tuple[str, str]:
    """The labels that name the object and its namespace when a metric does not say so."""
    return _singular(describes.resource), _default_namespace_label(describes)


def read_metrics(top: Block, backends: tuple[Backend, ...]) -> tuple[NamedRule, ...]:
    """All named metrics; a name is unique for each resource that it describes."""
    seen: dict[tuple[str, GroupResource | None], str] = {}
    found = []
    for block in top.blocks("metrics"):
        rule = _read_metric(block, backends)
        if (first := seen.setdefault((rule.name, rule.describes), rule.path)) != rule.path:
            block.error(
                ProblemCode.DUPLICATE_NAME,
                "name",
                f"{first} has the same name for the same resource",
                "Rename one of them.",
            )
        found.append(rule)
    return tuple(found)


def _read_metric(block: Block, backends: tuple[Backend, ...]) -> NamedRule:
    described = block.text("describes")
    describes = GroupResource.parse(described) if described else None
    labels = block.block("labels")
    rule = NamedRule(
        path=block.path,
        name=_read_name(block),
        query=_read_query(block),
        describes=describes,
        object_label=labels.text("object", _singular(describes.resource)) if describes else "",
        namespace_label=labels.text("namespace", _default_namespace_label(describes)),
        window_seconds=block.seconds("window"),
        backend=read_backend_ref(block, backends),
        contract=read_contract(block, NAMED),
    )
    labels.close()
    _check_rows(block, rule)
    block.close()
    return rule


def _read_name(block: Block) -> str:
    name = block.required_text("name", "Add the name under which autoscalers request the metric.")
    if "/" in name or name in (".", "..", "*"):
        block.error(
            ProblemCode.INVALID_NAME,
            "name",
            f"{name!r} cannot be part of a URL path",
            "Use letters, digits, `_`, `-` and `.`.",
        )
    return name


def _read_query(block: Block) -> str:
    query = block.required_text(
        "query",
        "Add a PromQL query, such as 'sum by (namespace, pod) (rate(http_requests_total[1m]))'.",
    )
    read_template(block, "query", NAMED_FIELDS)
    try:
        example = named_query(query, EVERYTHING)
    except ValueError:
        return query  # reported just now, as a template
    problem = promql_problem(example) if query else None
    if problem and UNKNOWN_FUNCTION in problem:
        block.warning(
            ProblemCode.UNKNOWN_FUNCTION,
            "query",
            f"a function is not known to Loadline: {problem}",
            "The query is sent as it is; metric selectors cannot be added to it.",
        )
    elif problem:
        block.error(
            ProblemCode.INVALID_QUERY,
            "query",
            f"this is not valid PromQL: {problem}",
            "Try it in Prometheus.",
        )
    return query


def _check_rows(block: Block, rule: NamedRule) -> None:
    """An aggregation that drops the labels which identify rows yields nothing usable."""
    try:
        tree = promql_parser.parse(named_query(rule.query, EVERYTHING))
    except ValueError:
        return
    while isinstance(tree, promql_parser.ParenExpr):
        tree = tree.expr
    needed = [label for label in (rule.object_label, rule.namespace_label) if label]
    if not isinstance(tree, promql_parser.AggregateExpr) or not needed:
        return
    if rule.describes is not None and tree.modifier is None:
        missing = needed
    elif tree.modifier is not None and tree.modifier.type == promql_parser.AggModifierType.By:
        missing = [label for label in needed if label not in tree.modifier.labels]
    else:
        return
    if missing and str(tree.op) not in ("topk", "bottomk", "limitk", "limit_ratio"):
        fix = f"Aggregate `by ({', '.join(needed)})`, or set under `labels` which label names the object."
        block.error(
            ProblemCode.DROPPED_LABEL,
            "query",
            f"the query drops the label {' and '.join(missing)}, which identifies rows",
            fix,
        )


def _default_namespace_label(describes: GroupResource | None) -> str:
    """Objects are taken for namespaced unless known not to be; an external metric is for all namespaces by default."""
    return (
        "namespace" if describes is not None and describes.resource not in _CLUSTER_SCOPED else ""
    )


def _singular(resource: str) -> str:
    """`pods` is `pod`, `ingresses` is `ingress`, `policies` is `policy`: the usual label of an object in Prometheus."""
    for plural, singular in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if resource.endswith(plural) and not resource.endswith("ss"):
            return resource.removesuffix(plural) + singular
    return resource

"""Checks of the texts in a rule: regular expressions, templates, PromQL."""

from collections.abc import Sequence
from typing import Final

import promql_parser

from adapter.config.document import Block
from adapter.config.problems import ProblemCode
from adapter.promql.metric_query import QUERY_FIELDS
from adapter.promql.naming import TEMPLATE_FIELDS, label_pattern
from adapter.promql.regex import Pattern, pattern
from adapter.templates import Record, Template, TemplateExecutionError, Value, compiled

_EXAMPLE: dict[str, Value] = {
    "Series": "up",
    "LabelMatchers": 'namespace="default",pod="web-0"',
    "LabelValuesByName": {"namespace": "default", "pod": "web-0"},
    "GroupBy": "pod",
    "GroupBySlice": ("pod",),
}


def read_pattern(block: Block, name: str, text: str) -> Pattern | None:
    """A regular expression; None when it is not valid, which is reported."""
    try:
        return pattern(text)
    except ValueError as e:
        block.error(
            ProblemCode.INVALID_PATTERN,
            name,
            f"{text!r} is not a valid RE2 expression: {e}",
            "RE2 has no lookaheads and no backreferences.",
        )
        return None


def read_template(block: Block, name: str, known: Sequence[str]) -> str:
    """The text of a template that parses. As in prometheus-adapter, unknown fields fail only when the template is used."""
    text = block.text(name)
    template = _parsed(block, name, text)
    if template is not None:
        for field in dict.fromkeys(template.unknown_fields(known)):
            fix = f"Known fields: {', '.join(f'.{each}' for each in known)}."
            block.warning(
                ProblemCode.UNKNOWN_TEMPLATE_FIELD,
                name,
                f"the template uses .{field}, which does not exist: every request fails",
                fix,
            )
    return text


def _parsed(block: Block, name: str, text: str) -> Template | None:
    try:
        return compiled(text)
    except ValueError as e:
        block.error(
            ProblemCode.INVALID_TEMPLATE,
            name,
            f"the template cannot be read: {e}",
            "The position is line:column in the template; the delimiters are << and >>.",
        )
        return None


def read_label_template(block: Block, name: str) -> str:
    """`resources.template`: must parse, and must be invertible."""
    text = read_template(block, name, TEMPLATE_FIELDS)
    if text and _parsed(block, name, text) is not None:
        try:
            label_pattern(text)
        except ValueError as e:
            block.error(
                ProblemCode.INVALID_TEMPLATE,
                name,
                f"labels cannot be mapped to resources by it: {e}",
                "Write something like kube_<<.Group>>_<<.Resource>>.",
            )
    return text


def read_query_template(block: Block, name: str) -> str:
    """`metricsQuery` and the like: must parse as a template that renders to PromQL."""
    text = read_template(block, name, QUERY_FIELDS)
    if not text:
        fix = "Add it, for example 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'."
        block.warning(
            ProblemCode.NO_QUERY,
            name,
            "there is no query: every request for the rule's metrics fails",
            fix,
        )
        return text
    try:
        example = compiled(text).execute(Record(_EXAMPLE))
    except TemplateExecutionError:
        return text  # it may index labels that the example lacks
    except ValueError:
        return text  # reported when it was parsed
    if problem := promql_problem(example):
        block.warning(
            ProblemCode.INVALID_QUERY,
            name,
            f"rendered as {example!r}, it cannot be parsed as PromQL: {problem}",
            "Try the rendered query in Prometheus.",
        )
    return text


def selector_problem(text: str) -> str | None:
    """Why a text is not a series selector, which listing series needs; None when it is one."""
    if problem := promql_problem(text):
        return problem
    tree = promql_parser.parse(text)
    if not isinstance(tree, promql_parser.VectorSelector):
        return "it is an expression, but series are listed by a selector"
    if tree.offset is not None or tree.at is not None:
        return "a series selector cannot have an offset or @"
    return None


UNKNOWN_FUNCTION: Final = "unknown function"
"""In promql-parser's message. The Prometheus may know more functions than the parser."""


def promql_problem(query: str) -> str | None:
    """Why a text is not PromQL; None when it is."""
    try:
        promql_parser.parse(query)
    except ValueError as e:
        return str(e)
    return None

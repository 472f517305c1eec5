"""Checks of the texts inside a rule: expressions, templates, PromQL. Each yields its text, or a problem."""

from collections.abc import Sequence

import promql_parser

from adapter.config.document import Block
from adapter.translate.naming import TEMPLATE_FIELDS, label_pattern
from adapter.translate.promql import QUERY_FIELDS
from adapter.translate.regex import Pattern, pattern
from adapter.translate.template import Record, Template, TemplateExecutionError, Value, compiled

_EXAMPLE: dict[str, Value] = {
    "Series": "up",
    "LabelMatchers": 'namespace="default",pod="web-0"',
    "LabelValuesByName": {"namespace": "default", "pod": "web-0"},
    "GroupBy": "pod",
    "GroupBySlice": ("pod",),
}


def read_pattern(block: Block, name: str, text: str) -> Pattern | None:
    """A regular expression; None after a problem."""
    try:
        return pattern(text)
    except ValueError as e:
        block.error(
            name,
            f"{text!r} is no RE2 expression: {e}",
            "RE2 has no lookaheads and no backreferences.",
        )
        return None


def read_template(block: Block, name: str, known: Sequence[str]) -> str:
    """A template's text, parsed once to see that it can be; unknown fields fail only when it is used, as in the peer."""
    text = block.text(name)
    template = _parsed(block, name, text)
    if template is not None:
        for field in dict.fromkeys(template.unknown_fields(known)):
            fix = f"There are {', '.join(f'.{each}' for each in known)}."
            block.warning(
                name,
                f"the template asks for .{field}, which does not exist: every request fails",
                fix,
            )
    return text


def _parsed(block: Block, name: str, text: str) -> Template | None:
    try:
        return compiled(text)
    except ValueError as e:
        block.error(
            name,
            f"the template cannot be read: {e}",
            "Position is line:column in the template; the delimiters are << and >>.",
        )
        return None


def read_label_template(block: Block, name: str) -> str:
    """`resources.template`: must parse, and must be readable backwards."""
    text = read_template(block, name, TEMPLATE_FIELDS)
    if text and _parsed(block, name, text) is not None:
        try:
            label_pattern(text)
        except ValueError as e:
            block.error(
                name,
                f"labels cannot be read back by it: {e}",
                "Write something like kube_<<.Group>>_<<.Resource>>.",
            )
    return text


def read_query_template(block: Block, name: str) -> str:
    """`metricsQuery` and its like: must parse as a template; what it makes should be PromQL."""
    text = read_template(block, name, QUERY_FIELDS)
    if not text:
        fix = "Add it, for example 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'."
        block.warning(name, "there is no query: every request for the rule's metrics fails", fix)
        return text
    try:
        example = compiled(text).execute(Record(_EXAMPLE))
    except TemplateExecutionError:
        return text  # it may index labels that the example does not have
    except ValueError:
        return text  # reported when it was parsed
    if problem := promql_problem(example):
        block.warning(
            name,
            f"rendered as {example!r} it is not understood as PromQL: {problem}",
            "Try the rendered query in Prometheus.",
        )
    return text


def selector_problem(text: str) -> str:
    """What keeps a text from being a series selector, which is all that a list of series takes; or nothing."""
    if problem := promql_problem(text):
        return problem
    tree = promql_parser.parse(text)
    if not isinstance(tree, promql_parser.VectorSelector):
        return "it is an expression, and series are listed by a selector alone"
    if tree.offset is not None or tree.at is not None:
        return "a selector of series has no offset and no @"
    return ""


def promql_problem(query: str) -> str:
    """What keeps a text from being PromQL, or nothing."""
    try:
        promql_parser.parse(query)
    except ValueError as e:
        return str(e)
    return ""

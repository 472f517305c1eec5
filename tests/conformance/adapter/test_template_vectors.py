"""Query templates against Go's text/template: the same text, or refused where Go fails too."""

import msgspec
import pytest

from adapter.templates import Record, TemplateExecutionError, TemplateSyntaxError, compiled

ARGUMENTS = (
    Record(
        {
            "Series": "http_requests_total",
            "LabelMatchers": 'namespace="default",pod=~"a|b"',
            "LabelValuesByName": {"pod": "a|b", "namespace": "default", "": "none"},
            "GroupBy": "pod,container",
            "GroupBySlice": ("pod", "container", "ünïcode"),
        }
    ),
    Record(
        {
            "Series": "",
            "LabelMatchers": "",
            "LabelValuesByName": {},
            "GroupBy": "",
            "GroupBySlice": (),
        }
    ),
)

OUTSIDE_THE_SUBSET = (
    "<<nil>>",
    "<<1i>>",
    "<<9223372036854775808>>",
)
"""Refused when the template is loaded; Go prints an imaginary number, and fails at run time for the others."""


class Row(msgspec.Struct):
    template: str
    outputs: list[str | None] | None


def rendered(text: str) -> list[str | None] | None:
    try:
        template = compiled(text)
    except TemplateSyntaxError:
        return None
    outputs: list[str | None] = []
    for arguments in ARGUMENTS:
        try:
            outputs.append(template.execute(arguments))
        except TemplateExecutionError:
            outputs.append(None)
    return outputs


@pytest.fixture(scope="module")
def templates(rows):
    return rows("templates.jsonl", Row)


def test_every_template_renders_what_go_renders(templates):
    differing = [
        (row.template, row.outputs, ours)
        for row in templates
        if row.template not in OUTSIDE_THE_SUBSET
        and (ours := rendered(row.template)) != row.outputs
    ]
    assert not differing, f"{len(differing)} of {len(templates)}: {differing[:20]}"


@pytest.mark.deviation("templates-outside-the-subset")
@pytest.mark.parametrize("text", OUTSIDE_THE_SUBSET)
def test_what_is_outside_the_subset_is_refused_with_its_position(text):
    with pytest.raises(TemplateSyntaxError, match=r"^1:3: "):
        compiled(text)

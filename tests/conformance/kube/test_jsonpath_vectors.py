"""Templates of `-o jsonpath` print what kubectl prints (client-go, util/jsonpath), and fail where it fails."""

from pathlib import Path

import msgspec
import pytest

from kubectl_loadline.terminal.jsonpath import Template
from kubectl_loadline.terminal.jsonpath_expression import InvalidTemplate
from testbed.vectors import lines

HERE = Path(__file__).parent


class Row(msgspec.Struct, frozen=True):
    template: str
    output: str | None


DOCUMENT, *ROWS = lines(HERE / "jsonpath.jsonl")
DIFFERENT = {
    # For kubectl, the quote after the second backslash does not end the text.
    r'{"\\"}': "\\",
    # Refused by kubectl: twice the same values.
    "{....name}": "web worker ünï web worker ünï web worker ünï",
    # Without an expression there is nothing to range over.
    "{range}{.kind}{end}": None,
}
"""What templates print that kubectl refuses or prints differently."""


def printed(template: str) -> str | None:
    try:
        return Template(template).rendered(msgspec.json.decode(DOCUMENT)["document"])
    except InvalidTemplate:
        return None


def test_templates_print_what_kubectl_prints():
    rows = [msgspec.json.decode(line, type=Row) for line in ROWS]
    differing = {
        row.template: (row.output, ours)
        for row in rows
        if row.template not in DIFFERENT and (ours := printed(row.template)) != row.output
    }
    assert differing == {}
    assert sum(row.output is not None for row in rows) > 100
    assert sum(row.output is None for row in rows) > 20


@pytest.mark.parametrize("template", DIFFERENT)
def test_a_template_that_differs_prints_what_is_recorded_here(template):
    assert printed(template) == DIFFERENT[template]

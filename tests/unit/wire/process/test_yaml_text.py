"""Documents as YAML that every program reads alike."""

import pytest

from wire.process import go_yaml
from wire.process.yaml_text import as_yaml


@pytest.mark.parametrize(
    "text",
    [
        "y", "Y", "n", "yes", "No", "on", "off", "true", "False", "null", "~", "<<", "=",
        "1", "-1", "+1", "007", "08", "1_000", "0b1", "0o17", "-0O17", "0x1F",
        "1.5", "1.", "+.5", "-.5", "1e3", "1E+3", ".5e3", "1_0.5", ".inf", "-.INF", ".nan",
        "1:30", "1:30.5", "2020-01-01", "2020-1-1", "2026-11-27T08:00:00Z",
    ],
)  # fmt: skip
def test_text_that_some_program_reads_as_something_else_is_in_quotes(text):
    assert as_yaml({"a": text}) == f"a: '{text}'\n"
    assert as_yaml({text: "a"}) == f"'{text}': a\n"


@pytest.mark.parametrize(
    "text",
    ["web", "web-1", "500m", "1Gi", "v1", "10.0.0.1", "yellow", "nan", "e3", "1-2", "a_1", "15s"],
)
def test_other_text_is_not(text):
    assert as_yaml({"a": text}) == f"a: {text}\n"


def test_numbers_and_booleans_are_not_text():
    document = {"a": 1, "b": 1.5, "c": 1e20, "d": True, "e": None, "f": -2}
    assert go_yaml.load(as_yaml(document)) == document
    assert "'" not in as_yaml(document)


def test_several_documents_are_separated_and_long_lines_are_not_folded():
    long = "word " * 60 + "end"
    text = as_yaml({"a": long}, {"b": "ä"})
    assert text == f"a: {long}\n---\nb: ä\n"

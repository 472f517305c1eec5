"""The examples of docs/configuration.md are configurations, and good ones."""

import re
from pathlib import Path

import pytest

from adapter.config import parse

DOCUMENT = Path(__file__).parents[4] / "docs" / "configuration.md"
TOP_FIELDS = ("rules", "externalRules", "resourceRules", "metrics", "backends")
EXAMPLES = [
    pytest.param(text, id=f"line {DOCUMENT.read_text()[: found.start()].count(chr(10)) + 1}")
    for found in re.finditer(r"```yaml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    if (text := found[1]).startswith(tuple(f"{name}:" for name in TOP_FIELDS))
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_loads_without_a_warning(text):
    warnings = [
        str(warning)
        for warning in parse(text).warnings
        if "no metrics API is served" not in str(warning)
    ]
    assert warnings == []


def test_there_is_an_example_of_every_part():
    assert {
        name
        for name in TOP_FIELDS
        if any(example.values[0].startswith(f"{name}:") for example in EXAMPLES)
    } == set(TOP_FIELDS)
    assert len(EXAMPLES) >= 6

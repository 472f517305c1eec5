"""A section of the values without any line below it, such as `tls:`."""

import json

import pytest


def test_an_empty_section_is_rejected_by_its_name_or_may_be_empty(chart, refused):
    """Instead of a nil pointer in a template."""
    schema = json.loads((chart.path / "values.schema.json").read_text("utf-8"))
    sections = {
        name for name, inner in schema["properties"].items() if "object" in inner.get("type", "")
    }
    needed = sections & set(schema["required"])
    with pytest.raises(refused) as found:
        chart.render(dict.fromkeys(sections))
    assert {each for each in sections if f"{each} is required" in str(found.value)} == needed
    chart.render(dict.fromkeys(sections - needed))

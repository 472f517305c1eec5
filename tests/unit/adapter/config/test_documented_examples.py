"""The configurations in the documents are configurations, and good ones."""

import msgspec
import pytest
import yaml

from adapter.config import parse
from tests.documented_blocks import Block, blocks_run_by

TOP_FIELDS = ("rules", "externalRules", "resourceRules", "metrics", "backends")
EXAMPLES = blocks_run_by(
    "tests/unit/adapter/config/test_documented_examples.py::test_an_example_loads_without_a_warning"
)


def configuration(block: Block) -> str:
    """The block, or a configuration around the fields of a metric or of a rule."""
    fields = yaml.safe_load(block.text)
    if set(fields) <= set(TOP_FIELDS):
        return block.text
    if "query" in fields:
        around = {"metrics": [{"name": "m", "describes": "pods", **fields}]}
    else:
        names = {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}
        rule = {"seriesQuery": "requests_total", "resources": {"overrides": names}, **fields}
        around = {"rules": [rule]}
    return msgspec.json.encode(around).decode()


def test_an_example_loads_without_a_warning(documented_block):
    warnings = [
        str(warning)
        for warning in parse(configuration(documented_block)).warnings
        if "no metrics API is served" not in str(warning)
    ]
    assert warnings == []


@pytest.mark.parametrize("name", TOP_FIELDS)
def test_there_is_an_example_of_every_part(name):
    assert any(yaml.safe_load(block.text).get(name) for block in EXAMPLES)

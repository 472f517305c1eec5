"""The adapter chart accepts the values in the README, and the adapter accepts the rules."""

import pytest
import yaml

from adapter import config
from tests.readme import documents

VALUES = [document for document in documents() if "kind" not in document]


def test_the_readme_shows_one_rule_per_example():
    assert [values["rules"]["metrics"][0]["name"] for values in VALUES] == [
        "http_requests_per_second",
        "queue_length",
    ]


@pytest.mark.parametrize("values", VALUES, ids=["requests per second", "queue length"])
def test_the_chart_and_the_adapter_accept_the_values_unchanged(adapter, values, tmp_path):
    (configmap,) = adapter.render(values).of("ConfigMap")
    file = tmp_path / "config.yaml"
    file.write_text(configmap["data"]["config.yaml"])
    named = config.load(file).rules[-1]
    assert named.name == values["rules"]["metrics"][0]["name"]
    assert yaml.safe_load(file.read_text())["metrics"] == values["rules"]["metrics"]

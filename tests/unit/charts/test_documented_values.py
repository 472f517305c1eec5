"""The charts accept the values in the documents unchanged, and the adapter accepts the rules among them."""

import yaml

from adapter import config
from tests.unit.charts.conftest import Chart


def test_a_chart_accepts_the_values(documented_block, refused):
    values = yaml.safe_load(documented_block.text)
    accepted = [chart for chart in map(Chart, ("adapter", "scaler")) if accepts(chart, values, refused)]  # fmt: skip
    assert accepted


def accepts(chart: Chart, values: dict, refused: type[Exception]) -> bool:
    try:
        return chart.render(values).text != chart.render().text
    except refused:
        return False


def test_the_adapter_accepts_the_rules(adapter, documented_block, tmp_path):
    values = yaml.safe_load(documented_block.text)
    (configmap,) = adapter.render(values).of("ConfigMap")
    file = tmp_path / "config.yaml"
    file.write_text(configmap["data"]["config.yaml"])
    names = [metric["name"] for metric in values["rules"]["metrics"]]
    assert [rule.name for rule in config.load(file).rules[-len(names) :]] == names
    assert yaml.safe_load(file.read_text())["metrics"] == values["rules"]["metrics"]

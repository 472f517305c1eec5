"""The tables of chart values in docs/charts.md and in the README of each chart, generated from the schema and values.yaml.

python -m testbed.chart_values
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wire.process import go_yaml

ROOT = Path(__file__).parents[1]
CHARTS = ("adapter", "scaler")
PAGE = ROOT / "docs" / "charts.md"
README = """\
# {name}

{description}.

```sh
helm install {name} oci://registry.example.com/charts/{name} --namespace monitoring --create-namespace{required}
```

If your registry does not have the charts yet, [push them](../../docs/gitops.md#install-the-charts), or use the path of this directory in a checkout instead of `oci://...`.

Requires Helm 3.14 or later. Supported on Kubernetes 1.35 to 1.37; Helm refuses versions before {kubernetes}.

## Values

{table}
"""
REQUIRED = {
    "adapter": " --set prometheus.url=http://prometheus-server.monitoring.svc:80",
    "scaler": "",
}


def described(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """The path and the description of each value of a schema."""
    for name, inner in schema["properties"].items():
        here = f"{path}{name}"
        if "description" in inner:
            yield here, inner["description"]
        else:
            yield from described(inner, f"{here}.")


def table(chart: str) -> str:
    """All values of a chart with their defaults, as Markdown."""
    directory = ROOT / "charts" / chart
    schema = json.loads((directory / "values.schema.json").read_text("utf-8"))
    values = go_yaml.load((directory / "values.yaml").read_text("utf-8"))
    rows = [
        f"| `{path}` | {_default(values, path)} | {text.replace('|', chr(92) + '|')} |"
        for path, text in described(schema)
        if path not in ("global", "enabled")  # Helm adds them to the values of a subchart
    ]
    return "\n".join(["| value | default | description |", "|---|---|---|", *rows])


def _default(values: Any, path: str) -> str:
    for name in path.split("."):
        if not isinstance(values, dict) or name not in values:
            return ""
        values = values[name]
    return f"`{json.dumps(values)}`".replace("|", r"\|")


def readme(chart: str) -> str:
    """The README of a chart."""
    about = go_yaml.load((ROOT / "charts" / chart / "Chart.yaml").read_text("utf-8"))
    return README.format(
        name=about["name"],
        description=about["description"],
        kubernetes=about["kubeVersion"].removeprefix(">=").removesuffix("-0"),
        required=REQUIRED[chart],
        table=table(chart),
    )


def page() -> str:
    """docs/charts.md with its tables replaced."""
    text = PAGE.read_text("utf-8")
    for chart in CHARTS:
        title = f"## Values of charts/{chart}\n"
        before, _, rest = text.partition(title)
        _, _, after = rest.partition("\n## ")
        text = f"{before}{title}\n{table(chart)}\n" + (f"\n## {after}" if after else "")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    for each in CHARTS:
        (ROOT / "charts" / each / "README.md").write_text(readme(each), "utf-8")

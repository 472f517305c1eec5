"""`python -m benchmarks.backtest_picture DIRECTORY`: a report and a picture as in docs/backtest.md, of a load that can be made again.

It writes a synthetic load of fourteen days as a CSV file, with the replicas of an HPA and a manual scaling on day 11, and runs
`kubectl loadline backtest` on it. The picture is DIRECTORY/plots/replicas.png.
"""

import csv
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from kubectl_loadline.commands.backtest.command import main as backtest
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY

START_UNIX_SECONDS = 1_793_491_200  # 2026-11-01T00:00Z, a Sunday
DAYS = 14
TARGET = 50
WINDOW_MINUTES = 5
MANUAL_MINUTES, MANUAL_REPLICAS = range(11 * MINUTES_PER_DAY + 120, 11 * MINUTES_PER_DAY + 240), 18
SPIKE_MINUTES, SPIKE = range(9 * MINUTES_PER_DAY + 720, 9 * MINUTES_PER_DAY + 750), 500.0
SPEC = """apiVersion: loadline.io/v1beta1
kind: LoadAutoscaler
metadata: {{name: {name}, namespace: shop}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 2
  maxReplicas: 30
  metrics:
  - name: rps
    type: External
    external: {{metric: {{name: requests_per_second}}, target: {{type: AverageValue, averageValue: "{target}"}}}}
{more}"""
FORECAST = "  forecast: {metric: rps, mode: Add}\n"


def loads() -> Iterator[float]:
    """Of each minute: low at night, high from eight to seven, two thirds of that at weekends, with noise and a spike."""
    noise = random.Random(28)  # noqa: S311 - the same load each time
    drift = 0.0
    for minute in range(DAYS * MINUTES_PER_DAY):
        drift = 0.98 * drift + noise.gauss(0, 1.0)
        of_day = minute % MINUTES_PER_DAY
        morning, evening = _sigmoid((of_day - 480) / 3.0), _sigmoid((1140 - of_day) / 45.0)
        is_weekend = minute // MINUTES_PER_DAY % 7 in (0, 6)
        height = 430.0 if is_weekend else 730.0
        value = 130.0 + height * morning * evening
        yield value * (1.0 + 0.006 * drift) + (SPIKE if minute in SPIKE_MINUTES else 0.0)


def _sigmoid(value: float) -> float:
    return 0.5 * (1.0 + math.tanh(value / 2.0))


def recorded(load: list[float]) -> Iterator[int]:
    """The replicas of an HPA with a tolerance of 10% and a window of five minutes, and what was set by hand."""
    replicas = math.ceil(load[0] / TARGET)
    proposals: list[int] = []
    for minute, value in enumerate(load):
        is_within = abs(value / TARGET / replicas - 1.0) <= 0.1
        proposals.append(replicas if is_within else math.ceil(value / TARGET))
        highest = max(proposals[-WINDOW_MINUTES:])
        replicas = proposals[-1] if proposals[-1] > replicas else min(replicas, highest)
        yield MANUAL_REPLICAS if minute in MANUAL_MINUTES else replicas


def main(directory: Path) -> int:
    """Write the files, and compare three specs."""
    directory.mkdir(parents=True, exist_ok=True)
    load = list(loads())
    with (directory / "web.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["time", "requests_per_second", "replicas"])
        for minute, (value, replicas) in enumerate(zip(load, recorded(load), strict=True)):
            rows.writerow([START_UNIX_SECONDS + 60 * minute, f"{value:.1f}", replicas])
    for name, target, more in (
        ("web", TARGET, ""),
        ("web-60", 60, ""),
        ("web-forecast", 60, FORECAST),
    ):
        text = SPEC.format(name=name, target=target, more=more)
        (directory / f"{name}.yaml").write_text(text)
    return backtest(
        [
            f"--autoscaler={directory / 'web.yaml'}",
            f"--history={directory / 'web.csv'}",
            *(f"--candidate={directory / name}.yaml" for name in ("web-60", "web-forecast")),
            "--start-up=45s,2m",
            "--price=0.03",
            f"--plots={directory / 'plots'}",
        ]
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

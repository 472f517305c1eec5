"""`python -m benchmarks.ratios_picture PICTURE.png RESULTS.json ...`: bars of the ratios to the reference, one plot per benchmark.

The files are those of `python -m benchmarks --json RESULTS.json`.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import msgspec
from matplotlib.axes import Axes

FIGURES: Mapping[str, Sequence[str]] = {
    "adapter_wave": (
        "wall_seconds",
        "p50_ms",
        "adapter_and_prometheus_cpu_seconds",
        "apiserver_cpu_seconds",
        "rss_mib",
    ),
    "adapter_different_requests": ("p50_ms", "cpu_ms_per_request", "rss_mib"),
    "adapter_requests": ("p50_ms", "cpu_ms_per_request", "rss_mib"),
    "adapter_growth": ("cpu_ms_per_request", "p50_ms", "rss_mib"),
    "adapter_discovery": (
        "adapter_cpu_seconds_per_listing",
        "prometheus_cpu_seconds_per_listing",
        "peak_rss_mib",
    ),
}
BAR_INCHES, PLOT_INCHES, WIDTH_INCHES = 0.22, 0.9, 9.0


class Bar(msgspec.Struct, frozen=True):
    """One ratio."""

    label: str
    ratio: float


def bars(result: Mapping[str, Any]) -> list[Bar]:
    """Of each case and program of a result, the ratios that are drawn."""
    reference = result["reference"]
    return [
        Bar(f"{case}, {program}: {name.replace('_', ' ')}", ratios[name])
        for case, programs in result["cases"].items()
        for program, figures in programs.items()
        if program != reference and (ratios := figures[f"ratios to {reference}"])
        for name in FIGURES[result["benchmark"]]
        if ratios.get(name)
    ]


def main(picture: Path, files: Sequence[Path]) -> None:
    """Draw the results that have ratios."""
    results = [each for file in files for each in msgspec.json.decode(file.read_bytes())]
    drawn = [(each, bars(each)) for each in results if each["benchmark"] in FIGURES]
    heights = [PLOT_INCHES + BAR_INCHES * len(found) for _, found in drawn]
    figure, plots = plt.subplots(
        len(drawn),
        1,
        figsize=(WIDTH_INCHES, sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for (result, found), plot in zip(drawn, plots[:, 0], strict=True):
        _draw(plot, result, found)
    figure.savefig(picture, dpi=90)


def _draw(plot: Axes, result: Mapping[str, Any], found: Sequence[Bar]) -> None:
    labels = [each.label for each in found]
    drawn = plot.barh(labels, [each.ratio for each in found], color="tab:blue")
    plot.bar_label(drawn, [f" x {each.ratio:.2g}" for each in found], fontsize=8)
    plot.axvline(1.0, color="0.3", linewidth=1)
    plot.set_xlabel("shorter is better", fontsize=8)
    plot.set_xlim(left=0)
    plot.margins(x=0.15)
    plot.invert_yaxis()
    plot.tick_params(axis="y", labelsize=8)
    plot.set_title(f"{result['benchmark']}: ratio to {result['reference']}", fontsize=10)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])

"""`python -m benchmarks.results_pictures`: one picture for each table of ratios in docs/benchmarks.md, in docs/pictures.

All bars have one direction and start at zero: Loadline's share of what the other program needs, so shorter is better.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import msgspec

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "benchmarks.md"
SECTION: Final = re.compile(r"^### (.+?)$(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
PICTURE: Final = re.compile(r"\]\((pictures/\w+\.png)\)")
ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+) \| x ([\d.]+) \|$", re.MULTILINE)
WIDTH_INCHES, BAR_INCHES, TITLE_INCHES = 8.0, 0.32, 1.0


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """The title of a section, and a ratio for each figure."""

    title: str
    picture: str
    bars: tuple[tuple[str, float], ...]


def charts(page: str) -> Iterator[Chart]:
    """Of each section with a picture and a table of ratios."""
    for title, text in SECTION.findall(page):
        picture, rows = PICTURE.search(text), ROW.findall(text)
        if picture and rows:
            bars = tuple((what, float(ratio)) for what, _, ratio in rows)
            yield Chart(title=title, picture=picture[1], bars=bars)


def draw(chart: Chart, picture: Path) -> None:
    """Horizontal bars on a linear axis from zero, with a line where both programs need the same."""
    labels, ratios = zip(*chart.bars, strict=True)
    height = TITLE_INCHES + BAR_INCHES * len(labels)
    figure, plot = plt.subplots(figsize=(WIDTH_INCHES, height), layout="constrained")
    drawn = plot.barh(labels, ratios, color=["#00796b" if r <= 1 else "#b3541e" for r in ratios])
    plot.bar_label(drawn, [f" x {ratio:.2f}" for ratio in ratios], fontsize=9)
    plot.axvline(1.0, color="0.3", linewidth=1)
    plot.set_xlim(0, max(1.25, *(ratio * 1.15 for ratio in ratios)))
    plot.invert_yaxis()
    plot.tick_params(labelsize=9)
    plot.set_xlabel("Loadline / other program; shorter is better", fontsize=9)
    plot.set_title(chart.title, fontsize=10, loc="left")
    figure.savefig(picture, dpi=90)
    plt.close(figure)


def main() -> int:
    """Draw all pictures."""
    for chart in charts(PAGE.read_text("utf-8")):
        draw(chart, ROOT / "docs" / chart.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())

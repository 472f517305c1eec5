"""The pictures of the results in docs/benchmarks.md."""

from pathlib import Path

from benchmarks.results_pictures import PAGE, Chart, charts, draw

PAGE_TEXT = """### Is it cheap?

| figure | other program | Loadline |
|---|---|---|
| CPU time | 2 s | x 0.50 |
| memory | 70 MiB | x 1.09 |

![a](pictures/cheap.png)

### Is it documented?

Yes.
"""


def test_each_section_with_a_table_of_ratios_has_a_chart():
    bars = (("CPU time", 0.5), ("memory", 1.09))
    assert list(charts(PAGE_TEXT)) == [
        Chart(title="Is it cheap?", picture="pictures/cheap.png", bars=bars)
    ]


def test_every_chart_of_the_page_is_drawn_and_has_the_memory():
    found = list(charts(PAGE.read_text("utf-8")))
    assert found
    for chart in found:
        assert (PAGE.parent / chart.picture).is_file()
        assert any("memory" in figure for figure, _ in chart.bars), chart.title


def test_a_chart_is_written_to_a_file(tmp_path: Path):
    [chart] = charts(PAGE_TEXT)
    draw(chart, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")

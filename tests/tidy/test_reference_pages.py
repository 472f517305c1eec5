"""The generated reference pages are those that the code generates now."""

import ast
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from testbed.reference_pages import FOLDER, ROOT, pages

PAGES = pages()
# Prefixes and names of other things in the code: `ast` finds them as it finds metrics.
NO_METRICS = {
    "loadline_of",
    "loadline_pod_of_target",
    "loadline_selector",
    "loadline_scaler_autoscaler_",
}


def names_in_the_code() -> Iterator[str]:
    """Every text in the code of the programs that has the form of the name of a metric."""
    for program in ("adapter", "scaler", "wire"):
        for path in sorted((ROOT / program).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    name = node.value
                    if name.startswith("loadline_") and name.isidentifier():
                        yield name


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name):
    wrong = "run .venv/bin/python -m testbed.reference_pages"
    assert (FOLDER / name).read_text("utf-8") == PAGES[name], wrong


def test_the_folder_has_no_other_pages():
    assert {path.name for path in FOLDER.iterdir()} == PAGES.keys()


def test_each_alert_and_each_field_with_a_description_is_listed():
    assert "LoadlineScalerDown" in PAGES["alerts.md"]
    assert "`spec.forecast.leadSeconds`" in PAGES["fields.md"]
    assert "`loadline_scaler_reconciliations_total`" in PAGES["metrics.md"]
    assert "--downscale-stabilization" in PAGES["commands.md"]


def test_every_metric_in_the_code_is_listed():
    found = set(names_in_the_code()) - NO_METRICS
    assert "loadline_scaler_cache_age_seconds" in found
    page = PAGES["metrics.md"]
    assert {
        name for name in found if f"`{name}`" not in page and f"`{name}_total`" not in page
    } == set()


def test_every_metric_of_the_process_is_listed():
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    names = {sample.name for family in registry.collect() for sample in family.samples}
    assert "process_resident_memory_bytes" in names
    assert {name for name in names if f"`{name}`" not in PAGES["metrics.md"]} == set()


def test_each_kind_has_fields():
    for section in PAGES["fields.md"].split("\n## ")[1:]:
        assert "|---|---|---|\n| `" in section, section.splitlines()[0]


def test_each_command_is_in_the_index():
    sections = [line[3:] for line in PAGES["commands.md"].splitlines() if line.startswith("## ")]
    assert sections
    for title in sections:
        assert f"| [`{title}`](#{title.replace(' ', '-')}) |" in PAGES["commands.md"]

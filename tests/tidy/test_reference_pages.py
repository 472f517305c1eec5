"""The generated reference pages are those that the code generates now."""

import pytest

from testbed.reference_pages import FOLDER, pages

PAGES = pages()


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

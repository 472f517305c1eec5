"""The exposition of the exporter."""

import math

import pytest

from testbed import web
from testbed.exporter import Exporter, render


@pytest.fixture
def exporter():
    """An exporter that is not scraped."""
    made = Exporter()
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("name", "labels", "value", "line"),
    [
        pytest.param("up", (), 1.0, "up 1.0", id="no labels"),
        pytest.param("q", (("a", "1"), ("b", "2")), 0.5, 'q{a="1",b="2"} 0.5', id="labels"),
        pytest.param("q", (("a", 'x"\\\n'),), 1.0, 'q{a="x\\"\\\\\\n"} 1.0', id="escaped"),
        pytest.param("q", (), math.inf, "q inf", id="infinite"),
        pytest.param("q", (), math.nan, "q nan", id="not a number"),
    ],
)
def test_a_series_is_a_line_of_the_text_format(name, labels, value, line):
    assert render(name, labels, value) == line


def test_series_of_one_name_are_consecutive(exporter):
    exporter.set("b", 1, queue="x")
    exporter.set("a", 2)
    exporter.set("b", 3, queue="w")
    assert exporter.text() == 'a 2.0\nb{queue="w"} 3.0\nb{queue="x"} 1.0\n'


def test_setting_a_series_again_replaces_its_value_whatever_the_label_order(exporter):
    exporter.set("q", 1, a="1", b="2")
    exporter.set("q", 5, b="2", a="1")
    assert exporter.text() == 'q{a="1",b="2"} 5.0\n'


def test_remove_removes_the_series_that_have_the_labels(exporter):
    exporter.set("q", 1, queue="x", shard="0")
    exporter.set("q", 2, queue="x", shard="1")
    exporter.set("q", 3, queue="y", shard="0")
    exporter.remove("q", queue="x")
    assert exporter.text() == 'q{queue="y",shard="0"} 3.0\n'
    exporter.remove("q")
    assert exporter.text() == ""


def test_a_counter_keeps_its_value_when_its_rate_changes(exporter, monkeypatch):
    now = 1_000.0
    monkeypatch.setattr("testbed.exporter.time.monotonic", lambda: now)
    exporter.increase("requests_total", 10)
    now += 3
    exporter.increase("requests_total", 1)
    assert exporter.text() == "requests_total 30.0\n"
    now += 5
    assert exporter.text() == "requests_total 35.0\n"


def test_a_label_may_be_named_name_or_value(exporter):
    exporter.set("q", 1, name="n", value="v")
    assert exporter.text() == 'q{name="n",value="v"} 1.0\n'


def test_it_is_served_on_loopback():
    with Exporter() as serving:
        serving.set("up", 1)
        response = web.get(serving.port, "/metrics")
        assert response is not None
        assert (response.status, response.text) == (200, "up 1.0\n")
    assert web.get(serving.port, "/metrics") is None

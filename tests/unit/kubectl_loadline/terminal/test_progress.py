"""The progress line: only on a terminal, only after two seconds, and never in the way of what is printed."""

import asyncio
import io
import sys

import pytest

from kubectl_loadline.program import main
from kubectl_loadline.terminal.progress import ProgressLine, shown_progress
from tests.fakes.clock import FakeClock
from tests.unit.kubectl_loadline.api_server import LAS, within


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return FakeClock()


def line(stream, clock):
    return ProgressLine(stream, clock)


def test_nothing_is_shown_in_the_first_two_seconds(clock):
    stream = Terminal()
    with shown_progress(line(stream, clock)) as show:
        clock.seconds = 1.9
        show("queue", 1, 9)
    assert stream.getvalue() == ""


def test_after_that_it_says_what_was_done_and_of_how_much(clock):
    stream = Terminal()
    with shown_progress(line(stream, clock)) as show:
        clock.seconds = 2.0
        show("queue", 3, 9)
        assert stream.getvalue().endswith("\rqueue: 3 of 9 done")


def test_without_a_known_total_there_is_none(clock):
    stream = Terminal()
    with shown_progress(line(stream, clock)) as show:
        clock.seconds = 2.0
        show("trying tolerance", 3, None)
        assert stream.getvalue() == "\rtrying tolerance: 3 done"


def test_a_shorter_line_erases_the_one_before_and_the_end_erases_it_all(clock):
    stream = Terminal()
    with shown_progress(line(stream, clock)) as show:
        clock.seconds = 2.0
        show("a long name", 3, 9)
        clock.seconds = 3.0
        show("b", 4, 9)
        assert stream.getvalue().endswith("\rb: 4 of 9 done          ")
    assert stream.getvalue().endswith(f"\r{' ' * len('b: 4 of 9 done')}\r")


def test_a_line_is_not_longer_than_the_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    with shown_progress(line(stream, clock)) as show:
        clock.seconds = 2.0
        show("a name that is longer than the terminal", 3, 9)
        assert stream.getvalue() == "\ra name that is long"


def test_a_file_gets_no_progress(clock):
    stream = io.StringIO()
    with shown_progress(line(stream, clock)) as show:
        clock.seconds = 5.0
        show("queue", 3, 9)
    assert stream.getvalue() == ""


async def test_the_innermost_wait_is_shown_with_how_many_are_done(clock):
    stream = Terminal()
    shown = line(stream, clock)
    async with shown.waiting_for("first"):
        pass
    clock.seconds = 2.0
    async with shown.waiting_for("outer"), shown.waiting_for("inner"):
        await asyncio.sleep(0)
        assert stream.getvalue() == "\r1 done; inner, 0 s"
    assert stream.getvalue().endswith("\r")
    shown.end()
    clock.seconds = 9.0
    shown.draw("later")
    assert "later" not in stream.getvalue()


def test_a_command_that_waits_names_the_request_on_a_terminal(api_server, capsys, monkeypatch):
    api_server.silent.add(within(LAS, "shop"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["status", "--request-timeout=4s"]) == 1
    shown, _, message = capsys.readouterr().err.rpartition("\r")
    assert f"0 done; waiting for GET {within(LAS, 'shop')}, " in shown
    assert message.startswith("kubectl loadline status: ")

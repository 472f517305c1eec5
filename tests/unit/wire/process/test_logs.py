"""`--logging-format` does what it says: every event is one line of logfmt, or one JSON object."""

import json
import logging
import sys

import pytest

from wire.process.command_line.parsing import FlagParser
from wire.process.logs import add_logging_flags, formatter

CREATED = 1_700_000_000.25


def record(message: str, *args: object, exc_info=None) -> logging.LogRecord:
    made = logging.LogRecord(
        "adapter.fetch", logging.WARNING, "file.py", 1, message, args, exc_info
    )
    made.created = CREATED
    return made


def failing() -> logging.LogRecord:
    try:
        raise ValueError('no "a"\nb')
    except ValueError:
        return record("it %s", "failed", exc_info=sys.exc_info())


@pytest.mark.parametrize(
    ("message", "args", "line"),
    [
        pytest.param("two words", (), 'msg="two words"', id="words"),
        pytest.param("%d of %s", (3, "x=y"), 'msg="3 of x=y"', id="arguments"),
        pytest.param('a "b" \\ c', (), r'msg="a \"b\" \\ c"', id="quotes"),
        pytest.param("a b\nc", (), r'msg="a b\nc"', id="a line break"),
        pytest.param("a b\rc\x1b[1m\u2028", (), r'msg="a b\\x0dc\\x1b[1m\\x2028"', id="control"),
    ],
)
def test_text_is_one_logfmt_line(message, args, line):
    assert formatter("text").format(record(message, *args)) == (
        f"time=2023-11-14T22:13:20.250+00:00 level=warning logger=adapter.fetch {line}"
    )


def test_json_is_one_object():
    assert json.loads(formatter("json").format(record("%d of\n%s", 3, 'a"b'))) == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "warning",
        "logger": "adapter.fetch",
        "msg": '3 of\na"b',
    }


def test_a_traceback_stays_on_the_line_of_its_event():
    line = formatter("text").format(failing())
    assert "\n" not in line
    assert 'msg="it failed" exception="Traceback' in line
    assert r"ValueError: no \"a\"\nb" in line


def test_a_traceback_is_a_field_in_json():
    event = json.loads(formatter("json").format(failing()))
    assert event["msg"] == "it failed"
    assert event["exception"].endswith('ValueError: no "a"\nb')


def test_a_message_that_no_encoding_can_hold_is_logged():
    assert "\\ud800" in formatter("json").format(record("a \ud800"))


@pytest.mark.parametrize("value", ["xml", ""])
def test_an_unknown_format_is_refused(value, capsys):
    parser = FlagParser(prog="program")
    add_logging_flags(parser, levels="4 more")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([f"--logging-format={value}"])
    assert ended.value.code == 2
    assert "json" in capsys.readouterr().err

"""What is printed for people has no characters that a terminal would obey."""

import pytest

from wire.process.command_line.messages import print_error, printable, wrapped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\n\nb ü →", "a\n\nb ü →", id="letters and line breaks"),
        pytest.param("\x1b[2Jgone", "\\x1b[2Jgone", id="an escape sequence"),
        pytest.param("a\rb\bc\td\x9b", "a\\rb\\x08c\\td\\x9b", id="control characters"),
        pytest.param("\u202etxt", "\\u202etxt", id="the direction of writing"),
        pytest.param("\ud800", "\\ud800", id="half a character"),
    ],
)
def test_what_is_not_printable_is_shown_as_an_escape(text, expected):
    assert printable(text) == expected
    assert printable(expected) == expected
    assert wrapped(text, None) == expected
    assert wrapped(text, 80) == expected


def test_messages_on_stderr_are_printable(capsys):
    print_error("no web\x1b]0;title\x07: not found")
    assert capsys.readouterr().err == "no web\\x1b]0;title\\x07: not found\n"

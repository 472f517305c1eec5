"""Sentences on a terminal are broken between words; in a file or a pipe they are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.process.command_line.messages import wrapped

words = st.text(alphabet="abc-{}=\"'.", min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("stays at 3 replicas.", "stays at 3\nreplicas.", id="a sentence"),
        pytest.param("  - 90 of 30 per pod", "  - 90 of 30\n    per pod", id="a list item"),
        pytest.param("  an indented text", "  an indented\n  text", id="indented"),
        pytest.param("why  it is at two", "why  it is at\n     two", id="a label"),
        pytest.param("queue_length{queue=mail}", "queue_length{queue=mail}", id="a long word"),
        pytest.param("short\n\nshort", "short\n\nshort", id="nothing to break"),
    ],
)
def test_a_line_is_broken_between_words_and_indented(text, expected):
    assert wrapped(text, 13) == expected


@given(st.lists(words, min_size=1, max_size=20))
def test_no_word_is_lost_or_broken(found):
    assert wrapped(" ".join(found), 40).split() == " ".join(found).split()


def test_nothing_is_broken_where_there_is_not_a_terminal():
    assert wrapped("a " * 200, None) == "a " * 200

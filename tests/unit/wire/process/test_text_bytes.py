"""Texts take one to four bytes for each character."""

import sys

import pytest

from wire.process.text_bytes import text_bytes


@pytest.mark.parametrize(
    "last", ["a", "\N{LATIN SMALL LETTER E WITH ACUTE}", "\u20ac", "\U0001f600"]
)
def test_a_text_is_counted_by_its_widest_character(last):
    object_bytes = sys.getsizeof("a" * 1_000 + last)
    assert 0 <= object_bytes - text_bytes("a" * 1_000 + last) < 100
    assert text_bytes("") == 0

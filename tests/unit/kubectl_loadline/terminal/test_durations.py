"""A duration has the unit in which it is easy to read."""

import pytest

from kubectl_loadline.terminal.durations import in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (780, "13 min"),
        (3600, "1 h"),
        (3900, "65 min"),
        (9000, "2.5 h"),
        (7 * 86400, "7 d"),
    ],
)
def test_a_duration_in_words(seconds, words):
    assert in_words(seconds) == words

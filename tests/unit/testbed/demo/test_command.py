"""The flags of the demo and of its preview."""

import pytest

from testbed.__main__ import main
from testbed.demo import preview


@pytest.mark.parametrize("command", ["preview", "demo"])
@pytest.mark.parametrize(
    ("seconds", "problem"),
    [
        ("60", "60: scaling up and down takes 90 s"),
        ("nan", "nan: scaling up and down takes 90 s"),
        ("two minutes", "two minutes is not a number of seconds"),
        ("inf", "inf is not a number of seconds"),
    ],
)
def test_a_duration_that_is_too_short_is_refused_before_anything_is_shown_or_built(
    monkeypatch, capsys, command, seconds, problem
):
    monkeypatch.setenv("DEMO_SECONDS", seconds)
    with pytest.raises(SystemExit) as ended:
        main([command])
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert problem in output.err
    assert "Set DEMO_SECONDS to at least 90" in output.err


@pytest.mark.parametrize("seconds", ["90", "240.5", ""])
def test_a_duration_that_is_long_enough_starts_the_preview(monkeypatch, seconds):
    monkeypatch.setenv("DEMO_SECONDS", seconds)
    monkeypatch.setattr(preview, "replay", lambda _: 0)
    assert main(["preview"]) == 0

"""A misspelled flag is named, with the one that was meant, before anything that is missing."""

import pytest

from wire.serving.flags import FlagParser


def parser() -> FlagParser:
    made = FlagParser(prog="program")
    made.add_argument("--config", required=True)
    return made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param("--confg=a", "no flag --confg: did you mean --config?", id="near"),
        pytest.param("--zzz", "no flag --zzz\n", id="far"),
    ],
)
def test_a_misspelled_flag_is_told_before_the_one_that_is_missing(given, said, capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([given])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_value_may_begin_with_dashes_when_it_is_written_with_an_equals_sign():
    assert parser().parse_args(["--config=--odd"]).config == "--odd"

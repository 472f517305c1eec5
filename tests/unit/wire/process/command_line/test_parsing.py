"""Flags as pflag reads them, and help that shows groups, units and defaults."""

import argparse
import sys

import pytest

from wire.process.command_line.parsing import FlagParser


def parser() -> FlagParser:
    made = FlagParser(
        prog="program",
        description="Do something.",
        examples=[("Do it now", "program --config=a")],
        notes="Durations are Go's.",
    )
    made.add_argument("--config", required=True, metavar="FILE", help="what to do")
    timing = made.group("timing")
    timing.add_duration("--period", default_seconds=90.0, help="time between two runs")
    timing.add_boolean("--strict", help="fail on warnings")
    timing.add_list("--names", default=("a", "b"), help="what to run")
    timing.add_file("--log-file", help="where to log (default: nowhere)")
    timing.add_argument("-n", "--number", type=int, default=5, metavar="N", help="100%% of it")
    return made


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        pytest.param("--confg=a", "unknown flag --confg: did you mean --config?", id="near"),
        pytest.param("--zzz", "unknown flag --zzz\n", id="far"),
        pytest.param("-A", "unknown flag -A\n", id="a short one"),
    ],
)
def test_a_misspelled_flag_is_reported_before_one_that_is_missing(given, reported, capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([given])
    assert ended.value.code == 2
    assert reported in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        pytest.param("--config=a", "the file is given without a flag: program FILE\n", id="a flag"),
        pytest.param(
            "--confg", "the file is given without a flag: program FILE\n", id="misspelled"
        ),
        pytest.param("-f", "the file is given without a flag: program FILE\n", id="as for kubectl"),
        pytest.param("--kubeconfg=a", "did you mean --kubeconfig?", id="another flag is nearer"),
    ],
)
def test_a_flag_for_what_is_an_argument_is_answered_with_how_it_is_given(given, reported, capsys):
    made = FlagParser(prog="program")
    made.add_argument("files", nargs="+", metavar="FILE", help="what to check")
    made.add_file("--kubeconfig", help="of the cluster")
    with pytest.raises(SystemExit):
        made.parse_args([given])
    assert f"unknown flag {given.partition('=')[0]}: {reported}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param("--stderrthreshhold=2", "--stderrthreshold", id="one that is only accepted"),
        pytest.param("--log-fil=a", "--log-file", id="the help lists it"),
    ],
)
def test_a_flag_that_is_only_accepted_is_suggested_if_no_listed_one_is_near(given, meant, capsys):
    made = FlagParser(prog="program")
    made.add_file("--log-file", help="where to log")
    for hidden in ("--stderrthreshold", "--log-fill"):
        made.add_argument(hidden, help=argparse.SUPPRESS)
    with pytest.raises(SystemExit):
        made.parse_args([given])
    assert f": did you mean {meant}?" in capsys.readouterr().err


def test_on_a_terminal_an_error_is_broken_between_words(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    with pytest.raises(SystemExit):
        parser().error("a word, and more of them, and the fix")
    assert capsys.readouterr().err == (
        "program: a word, and more of them, and\nthe fix\nSee program --help for every flag.\n"
    )


def test_a_value_may_begin_with_dashes_when_it_is_written_with_an_equals_sign():
    assert parser().parse_args(["--config=--odd"]).config == "--odd"


@pytest.mark.parametrize(
    ("arguments", "strict"),
    [
        pytest.param([], False, id="default"),
        pytest.param(["--strict"], True, id="alone"),
        pytest.param(["--strict=true"], True, id="true"),
        pytest.param(["--strict=false"], False, id="false"),
        pytest.param(["--strict", "--strict=F"], False, id="the last one counts"),
    ],
)
def test_a_boolean_of_a_group_is_read_as_pflag_reads_it(arguments, strict):
    assert parser().parse_args(["--config=a", *arguments]).strict is strict


@pytest.mark.parametrize("arguments", [["-n", "6"], ["-n=6"], ["--number=6"], ["--number", "6"]])
def test_values_may_follow_with_a_space_or_an_equals_sign(arguments):
    assert parser().parse_args(["--config=a", *arguments]).number == 6


@pytest.mark.parametrize(
    "line",
    [
        "Do something.",
        "timing:",
        "  --period DURATION           time between two runs (default 1m30s)",
        "  --strict[=true|false]       fail on warnings (default false)",
        "  --names LIST                what to run (default a,b)",
        "  --log-file FILE             where to log (default: nowhere)",
        "  -n, --number N              100% of it (default 5)",
        "  # Do it now",
        "  program --config=a",
        "Durations are Go's.",
    ],
)
def test_help_shows_groups_units_defaults_and_examples(line):
    lines = [" ".join(each.split()) for each in parser().format_help().splitlines()]
    assert " ".join(line.split()) in lines


def test_an_empty_file_flag_is_not_set():
    assert parser().parse_args(["--config=a", "--log-file="]).log_file is None


@pytest.mark.parametrize(
    ("columns", "is_terminal", "widest"), [("60", True, 60), ("200", True, 100), ("60", False, 100)]
)
def test_the_help_fits_the_terminal_and_has_at_most_100_columns(
    monkeypatch, columns, is_terminal, widest
):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    parser = FlagParser(prog="program", description="word " * 60, notes="word " * 60)
    parser.add_boolean("--flag", help="word " * 60)
    widths = [len(line) for line in parser.format_help().splitlines()]
    assert widest - 6 <= max(widths) <= widest

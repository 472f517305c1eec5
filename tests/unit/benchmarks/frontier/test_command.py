"""The command joins files of results, and measures what they do not have."""

import subprocess
import sys

import pytest

from benchmarks.frontier.__main__ import main
from benchmarks.frontier.measured import append
from testbed.programs import REPOSITORY
from tests.unit.benchmarks.frontier.points import DAILY, measured


@pytest.fixture
def results(tmp_path):
    append(tmp_path / "first", measured("mornings", DAILY, 8))
    append(tmp_path / "second", measured("evenings", DAILY, 16))
    return [str(tmp_path / "first"), str(tmp_path / "second")]


def test_the_tables_have_the_loads_of_all_files(results, capsys):
    assert main(["--results", *results]) == 0
    printed = capsys.readouterr().out
    assert "| mornings | daily |" in printed
    assert "| evenings | daily |" in printed


def test_without_any_result_the_command_says_what_is_missing(tmp_path, capsys):
    assert main(["--results", str(tmp_path / "none")]) == 1
    assert "give --traces DIRECTORY" in capsys.readouterr().err


def test_a_load_that_the_file_has_is_not_measured_again(results, tmp_path, capsys):
    """Measuring it would fail: the file of the load is empty."""
    (tmp_path / "mornings.csv").write_text("unix_seconds,value\n", "utf-8")
    assert main(["--traces", str(tmp_path), "--start-ups", "2", "--results", *results]) == 0
    assert capsys.readouterr().err == ""


def test_a_load_that_cannot_be_measured_is_named_and_the_others_are_shown(
    results, tmp_path, capsys
):
    rows = "".join(f"{60 * minute},0\n" for minute in range(200))
    (tmp_path / "zeros.csv").write_text(f"unix_seconds,value\n{rows}", "utf-8")
    assert main(["--traces", str(tmp_path), "--start-ups", "2", "--results", *results]) == 0
    printed = capsys.readouterr()
    assert printed.err == "left out: zeros has no load in 99% of the time\n"
    assert "| mornings | daily |" in printed.out


def test_the_usual_target_of_the_forecast_cannot_be_left_out(results, capsys):
    with pytest.raises(SystemExit):
        main(["--forecast-targets", "0.5", "--results", *results])
    assert "--forecast-targets must have 0.7" in capsys.readouterr().err


def test_a_directory_without_loads_is_named(results, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--traces", str(tmp_path / "missing"), "--results", *results])
    assert "missing has no CSV files" in capsys.readouterr().err


def test_two_processes_measure_as_one_does(tmp_path):
    """As a command, because a spawned process cannot import what is defined in its main module."""
    rows = "".join(f"{60 * minute},0\n" for minute in range(200))
    for name in ("first", "second"):
        (tmp_path / f"{name}.csv").write_text(f"unix_seconds,value\n{rows}", "utf-8")
    command = [sys.executable, "-m", "benchmarks.frontier", "--processes=2"]
    done = subprocess.run(
        [*command, f"--traces={tmp_path}", f"--results={tmp_path / 'none'}", "--start-ups=2"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stderr.count("left out: ") == 2, done.stderr

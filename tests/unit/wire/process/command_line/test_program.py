"""Which command a command line runs, in both programs."""

import shutil
import subprocess
import sys
from importlib.metadata import version

import pytest

from adapter.__main__ import PROGRAM as ADAPTER
from adapter.__main__ import main as adapter
from kubectl_loadline.program import PROGRAM as PLUGIN
from scaler.__main__ import PROGRAM as SCALER
from scaler.__main__ import main as scaler
from wire.process.command_line.program import Program

PROGRAMS = [pytest.param(program, id=program.name) for program in (ADAPTER, SCALER, PLUGIN)]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("word", ["--version", "version"])
def test_the_version_is_that_of_the_distribution(program: Program, word, capsys):
    assert program.main([word]) == 0
    assert capsys.readouterr().out == f"{program.name} {version('loadline-autoscaler')}\n"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], ["--secure-port=1", "--help"]])
def test_help_lists_every_command(program: Program, arguments, capsys):
    assert program.main(arguments) == 0
    shown = capsys.readouterr().out
    for command in program.commands:
        assert f"  {command.name:<12}{command.summary}\n" in shown
    assert "\n  completion " in shown


def test_on_a_narrow_terminal_the_list_of_commands_is_broken_between_words(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert PLUGIN.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "what limits\n              them, and why\n" in shown


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_command_has_its_own_help_with_two_examples(program: Program):
    for command in (program.default, *program.commands):
        shown = command.load().parser().format_help()
        assert shown.count("\n  # ") >= 2, command.name


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_with_a_command_is_the_help_of_that_command(program: Program, capsys):
    command = program.commands[-1]
    with pytest.raises(SystemExit) as ended:
        program.main(["help", command.name])
    assert ended.value.code == 0
    assert f"{command.name} " in capsys.readouterr().out.splitlines()[0]


def test_help_with_an_unknown_command_says_which_commands_exist(capsys):
    assert PLUGIN.main(["help", "wyh"]) == 2
    assert "unknown command 'wyh': did you mean why?" in capsys.readouterr().err


@pytest.mark.deviation("words-before-flags")
@pytest.mark.parametrize(
    ("main", "word", "reported"),
    [
        pytest.param(
            adapter,
            "chekc",
            "loadline-adapter: unknown command 'chekc': did you mean check?\n"
            "Commands: check, explain, migrate, completion, version. See loadline-adapter --help.\n",
            id="near",
        ),
        pytest.param(
            scaler,
            "xyz",
            "loadline-scaler: unknown command 'xyz'\n"
            "Commands: run, why, simulate, migrate, completion, version. See loadline-scaler --help.\n",
            id="far",
        ),
    ],
)
def test_an_unknown_command_says_which_commands_exist(main, word, reported, capsys):
    assert main([word, "x"]) == 2
    assert capsys.readouterr().err == reported


def test_the_first_argument_of_prometheus_adapters_chart_is_not_a_command(capsys):
    with pytest.raises(SystemExit) as ended:
        adapter(["/adapter", "--secure-port=6443"])
    assert ended.value.code == 2
    assert "required: --config" in capsys.readouterr().err


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_completion_script_names_commands_and_flags(program: Program, shell):
    script = program.completion(shell)
    words = ["completion", "kubeconfig", *(each.name for each in program.commands)]
    assert [word for word in words if word not in script] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("program", PROGRAMS)
def test_bash_accepts_the_completion_script(program: Program):
    script = program.completion("bash")
    outcome = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_completion_wants_a_shell_it_knows(capsys):
    with pytest.raises(SystemExit) as ended:
        ADAPTER.main(["completion", "fish"])
    assert ended.value.code == 2
    assert "bash" in capsys.readouterr().err

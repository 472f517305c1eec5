"""`kubectl loadline completion`: the shells, and what their scripts need."""

import io
import sys

import pytest

from kubectl_loadline.program import main


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o"),
        ("zsh", "#compdef kubectl-loadline"),
        ("tcsh", "complete kubectl-loadline"),
        ("fish", "complete --command kubectl-loadline"),
    ],
)
def test_each_shell_has_a_script(shell, line, capsys):
    assert main(["completion", shell]) == 0
    assert line in capsys.readouterr().out


def test_the_script_of_fish_runs_the_program_that_is_installed_beside_the_plugin(capsys):
    assert main(["completion", "fish"]) == 0
    assert "kubectl_complete-loadline $words[2..-1]" in capsys.readouterr().out


def test_the_help_and_a_wrong_shell_name_all_of_them(capsys):
    assert main(["--help"]) == 0
    assert "bash, zsh, tcsh, fish" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["completion", "fsh"])
    assert ended.value.code == 2
    assert "fish" in capsys.readouterr().err


def test_letters_that_the_output_cannot_encode_are_escaped(monkeypatch):
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["completion", "bash"]) == 0
    print("Größe", file=output, flush=True)
    assert output.buffer.getvalue().endswith(b"Gr\\xf6\\xdfe\n")

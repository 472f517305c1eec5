"""`check -` reads stdin: what Helm renders can be checked without a file."""

import subprocess
import sys

from testbed.helm import CHARTS, HELM

CHECK = [sys.executable, "-m", "adapter", "check", "-"]


def test_what_the_chart_renders_can_be_checked_from_stdin():
    rendered = subprocess.run(
        [HELM, "template", CHARTS / "adapter", "--set=image.repository=x", "--set-json",
         'rules.metrics=[{"name": "load", "query": "sum(load)"}]'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    done = subprocess.run(CHECK, input=rendered.stdout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert done.stdout.startswith("ConfigMap default/release-name-loadline-adapter, config.yaml is accepted: 7 rules")  # fmt: skip


def test_an_error_from_stdin_is_reported():
    done = subprocess.run(CHECK, input="rulez: []", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "(stdin): line 1: rulez: unknown field" in done.stderr


def test_values_from_stdin_have_no_name():
    values = "rules: {default: false, metrics: [{name: load, query: sum(load)}]}"
    done = subprocess.run(CHECK, input=values, capture_output=True, text=True, check=False)
    assert done.stdout == "(stdin): values is accepted: 1 rule\n"


def test_nothing_from_stdin_is_an_error_because_the_command_before_the_pipe_may_have_failed():
    done = subprocess.run(CHECK, input="\n", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "(stdin): cannot be read: it is empty" in done.stderr
    assert "Check whether the command before the pipe failed." in done.stderr


def test_a_missing_file_is_an_error_that_does_not_speak_of_the_flags_of_the_server(tmp_path):
    check = [*CHECK[:-1], str(tmp_path / "missing.yaml")]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "missing.yaml: cannot be read: No such file or directory" in done.stderr
    assert "--config" not in done.stderr

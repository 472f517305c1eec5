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
    assert "ConfigMap default/release-name-loadline-adapter, config.yaml can be used: 7 rules" in done.stdout  # fmt: skip


def test_an_error_from_stdin_is_reported():
    done = subprocess.run(CHECK, input="rulez: []", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "(stdin): line 1: rulez: unknown field" in done.stderr


def test_nothing_from_stdin_is_an_error_because_the_command_before_the_pipe_may_have_failed():
    done = subprocess.run(CHECK, input="\n", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "(stdin): (file): cannot be read: it is empty" in done.stderr
    assert "Check whether the command before the pipe failed." in done.stderr


def test_a_missing_file_is_an_error_that_does_not_speak_of_the_flags_of_the_server(tmp_path):
    check = [*CHECK[:-1], str(tmp_path / "missing.yaml")]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "missing.yaml: (file): cannot be read: No such file or directory" in done.stderr
    assert "--config" not in done.stderr

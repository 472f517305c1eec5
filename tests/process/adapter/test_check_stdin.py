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

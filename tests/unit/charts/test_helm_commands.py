"""The Helm commands in the documentation: one namespace, and upgrades that take the defaults of the new chart."""

import re

from tests.unit.charts.conftest import ROOT

PAGES = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "charts").glob("*/README.md"))


def commands():
    """The `helm install` and `helm upgrade` of code blocks."""
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip().startswith(("helm install ", "helm upgrade ")):
                    yield line.strip()


def test_every_command_names_the_same_namespace():
    assert list(commands())
    for command in commands():
        assert re.search(r" (-n|--namespace) monitoring( |$)", command), command


def test_an_upgrade_keeps_the_values_of_the_user_and_no_default_of_the_previous_chart():
    """`--reuse-values` would render templates of a new chart without its new values."""
    upgrades = [each for each in commands() if each.startswith("helm upgrade ")]
    assert upgrades
    for command in upgrades:
        kept = ("--reset-then-reuse-values", "--reset-values -f ", "upgrade --install ")
        assert any(flag in command for flag in kept), command

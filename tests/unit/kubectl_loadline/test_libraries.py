"""The programs, and the commands of the plugin that need no extra library, start without them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WITHOUT = ("jinja2", "matplotlib", "prometheus_api_client", "rich", "pandas", "requests")
BLOCKED = f"""
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {WITHOUT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def started(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "program", ["adapter.__main__", "scaler.__main__", "kubectl_loadline.program"]
)
def test_every_command_shows_its_help_without_the_libraries_of_the_extra(program):
    code = f"""
from {program} import PROGRAM
for command in (PROGRAM.default, *PROGRAM.commands):
    print(command.name, len(command.load().parser().format_help()))
"""
    done = started(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_page_without_jinja2_says_how_to_install_it():
    done = started("from kubectl_loadline.page.server import Page\nPage('token', None, None, None)")
    assert "Jinja2 is not installed: run pip install 'loadline-autoscaler[kubectl]'" in done.stderr

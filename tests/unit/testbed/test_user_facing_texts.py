"""The list of all texts that people read."""

from pathlib import Path

import pytest

from testbed.user_facing_texts import PACKAGES, ROOT, texts_of

MODULE = '''
"""What this module is for."""

NAME = "a-name"


def run(parser, problem):
    """What it does."""
    parser.add_argument("--port", help="port to listen on", metavar="PORT")
    log.info("serving on port %d", 1)
    if problem:
        raise ValueError(f"the port {problem} is in use: choose " "another one")
    re.compile("[a b] c d")
    return Remark(message=f"no pods of {problem.name} are ready")
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr("testbed.user_facing_texts.ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    return path


def test_help_log_lines_errors_and_other_sentences_are_listed_with_their_lines(module):
    found = [(each.line, each.kind, each.text) for each in texts_of(module)]
    assert found == [
        (9, "help", "port to listen on"),
        (10, "log", "serving on port %d"),
        (12, "error", "the port {problem} is in use: choose another one"),
        (14, "text", "no pods of {problem.name} are ready"),
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_texts(package):
    assert any(list(texts_of(path)) for path in Path(ROOT / package).rglob("*.py"))

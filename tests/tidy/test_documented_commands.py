"""The real parsers of the programs accept every command line of the documents. Nothing is run."""

import re
import subprocess
import tomllib

import pytest

from testbed.helm import HELM
from tests.command_lines import Refused, commands_in, commands_of, parse
from tests.documented_blocks import ROOT, blocks_to_run, pages

COMMANDS = [
    pytest.param(command, id=f"{block}: {' '.join(command)}")
    for block in blocks_to_run()
    if block.language in {"sh", "console"}
    for command in commands_in(block)
]
OF_THE_SHELL = {"cd", "diff", "exit", "grep", "mkdir", "printf", "sed", "sort", "source", "tr"}
# `tests/process/documents` has kubectl. No test runs the others.
OF_OTHERS = {
    ".venv/bin/mkdocs",
    ".venv/bin/uv",
    "cosign",
    "docker",
    "gh",
    "git",
    "go",
    "kind",
    "kubectl",
    "oras",
}
SPAN = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
CHECKED = re.compile(r"(loadline-(adapter|scaler)|kubectl loadline|(\.venv/bin/)?python -m|make) ")
# A text may name a command or a flag without what is required besides.
INCOMPLETE = re.compile(r"the following arguments are required|expected one argument")


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_accepted(words):
    assert words[0] != "python", "write .venv/bin/python, which has the dependencies"
    if not parse(words):
        expect_accepted(words)


def expect_accepted(words: list[str]) -> None:
    """By programs that are not of this repository."""
    match words:
        case [_, "-m", "pytest", *arguments]:
            expect_files(arguments)
        case ["make", *arguments]:
            expect_recipes(arguments)
        case ["helm", *_]:
            done = subprocess.run([HELM, *words[1:], "--help"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        case ["pip" | "pipx", "install", target]:
            expect_extra(target)
        case [program, *_]:
            assert program in OF_THE_SHELL | OF_OTHERS


def expect_files(arguments: list[str]) -> None:
    """The files and folders among pytest's arguments exist."""
    paths = [each for each in arguments if "/" in each]
    assert [each for each in paths if not (ROOT / each).exists()] == []


def expect_recipes(arguments: list[str]) -> None:
    """make knows the targets, their recipes use each variable, and the programs accept what they pass to them."""
    done = subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    values = (each.partition("=")[2] for each in arguments if "=" in each)
    for word in (word for value in values for word in value.split()):
        assert word in done.stdout
    for line in done.stdout.splitlines():
        if re.search(r"python -m ", line) and "pip " not in line and "$(" not in line:
            for command in commands_of(line):
                parse(command)


def expect_extra(target: str) -> None:
    """The extra in `.[extra]` exists."""
    found = re.fullmatch(r"\.\[(\w+)\]", target)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert found
    assert found[1] in project["optional-dependencies"]


def spans() -> list[str]:
    """The commands between backquotes, without those in blocks."""
    texts = (BLOCK.sub("", page.read_text("utf-8")) for page in pages())
    found = (span for text in texts for span in SPAN.findall(text))
    return sorted({span.replace(" ...", "") for span in found if CHECKED.match(span)})


@pytest.mark.parametrize("span", spans())
def test_a_command_in_a_sentence_is_accepted(span):
    for words in commands_of(span):
        try:
            if not parse(words):
                expect_accepted(words)
        except Refused as refused:
            if not INCOMPLETE.search(str(refused)):
                raise


@pytest.mark.parametrize(
    "line",
    [
        "loadline-adapter check --stict config.yaml",
        "loadline-scaler migrate --compare=maybe",
        "loadline-scaler simulates shop/web",
        "kubectl loadline backtest web --sinse=14d",
        ".venv/bin/python -m testbed.mutants --survivor",
        ".venv/bin/python -m testbed.oracle.scaler.mutations --all",
        ".venv/bin/python -m testbed.no_such_module",
        "(cd a && X=1 loadline-adapter --unknown) > out",
    ],
)
def test_a_wrong_command_is_refused(line):
    with pytest.raises(Refused):
        [parse(words) for words in commands_of(line)]

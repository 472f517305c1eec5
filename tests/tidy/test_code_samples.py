"""Code samples of the documentation: they parse, name flags and chart values that exist, and fields that the CRD has."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from adapter.__main__ import PROGRAM as ADAPTER
from scaler.__main__ import PROGRAM as SCALER
from tests.crd_schema import schema_in, unknown_fields

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAMPLES = [
    pytest.param(found[1], found[2], id=f"{page.name} line {text[: found.start()].count(chr(10)) + 1}")
    for page in PAGES
    for text in [page.read_text("utf-8")]
    for found in BLOCK.finditer(text)
]  # fmt: skip
PROGRAMS = {"loadline-adapter": ADAPTER, "loadline-scaler": SCALER}
CRD = ROOT / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"


def of(*languages: str) -> list:
    return [sample for sample in SAMPLES if sample.values[0] in languages]


@pytest.mark.parametrize(("language", "text"), of("yaml", "json"))
def test_a_document_parses(language, text):
    if language == "json":
        json.loads(text)
    else:
        assert [each for each in yaml.safe_load_all(text) if each] or text.startswith("#")


@pytest.mark.parametrize(("language", "text"), of("sh"))
def test_a_script_parses(language, text):
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commands() -> list[list[str]]:
    """The words of each command line of Loadline in a sample, and in the text between backquotes."""
    texts = [sample.values[1] for sample in of("", "sh")]
    texts += [
        code for page in PAGES for code in re.findall(r"`([^`\n]+)`", page.read_text("utf-8"))
    ]
    lines = [line for text in texts for line in text.replace("\\\n", " ").splitlines()]
    found = []
    for line in lines:
        start = re.search(r"(?:^|[\s|(])(loadline-(?:adapter|scaler) [^|>#&)]*)", line)
        if start and not re.search(
            r"helm|docker|kubectl (?!exec)|deploy", line[: start.start(1) + 1]
        ):
            words = start[1].replace("...", "").split()
            found.append(
                shlex.split(start[1].replace("...", "")) if start[1].count("'") % 2 == 0 else words
            )
    return found  # fmt: skip


def flags_of(parser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_flags_of_a_command_exist(words):
    program = PROGRAMS[words[0]]
    names = {command.name: command for command in program.commands}
    command = names.get(words[1], program.default)
    known = flags_of(command.load().parser()) | {"--version", "--help", "-h", "-v"}
    given = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
    assert given <= known


def schema_fields(chart: str) -> dict:
    return json.loads((ROOT / "charts" / chart / "values.schema.json").read_text())


def value_paths() -> list:
    """`--set a.b=c` of commands that name one of Loadline's charts."""
    found = []
    for sample in of("", "sh"):
        for line in sample.values[1].replace("\\\n", " ").splitlines():
            chart = re.search(r"charts/(adapter|scaler)\b", line)
            for given in re.findall(r"--set[ =](\S+)", line) if chart else []:
                paths = re.findall(r"(?:^|,)([\w.]+)=", given)
                found += [pytest.param(chart[1], path, id=f"{chart[1]} {path}") for path in paths]
    return found


@pytest.mark.parametrize(("chart", "path"), value_paths())
def test_the_values_of_a_command_exist(chart, path):
    schema = schema_fields(chart)
    for name in path.split("."):
        assert name in schema["properties"], f"{name} of {path}"
        schema = schema["properties"][name]


def autoscalers() -> list[dict]:
    documents = [
        document
        for sample in of("yaml")
        for document in yaml.safe_load_all(sample.values[1])
        if isinstance(document, dict)
    ]
    return [document for document in documents if document.get("kind") == "LoadAutoscaler"]


def test_the_fields_of_every_loadautoscaler_are_in_the_crd():
    schema = schema_in(CRD)
    found = autoscalers()
    assert found
    for document in found:
        document.pop("apiVersion"), document.pop("kind"), document.pop("metadata", None)
        assert unknown_fields(document, schema) == []

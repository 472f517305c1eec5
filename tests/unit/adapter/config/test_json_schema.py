"""The JSON Schema of the configuration: it accepts what the reader accepts, and refuses what a schema can refuse."""

import re
from pathlib import Path

import fastjsonschema
import pytest
import yaml

from adapter.config import ConfigError, parse
from adapter.config.json_schema import CONFIGURATION
from tests.unit.adapter.config.test_documented_examples import EXAMPLES, configuration
from tests.unit.adapter.config.test_problems import (
    test_a_problem_says_where_and_what_it_is_and_how_to_fix_it as invalid_files,
)

ROOT = Path(__file__).parents[4]
SAMPLES = [
    *sorted((ROOT / "testbed" / "differential" / "adapter" / "configurations").glob("*.yaml")),
    *sorted((ROOT / "tests" / "e2e" / "recorded" / "kube-prometheus").glob("*configMap.yaml")),
]
# What a schema cannot say, by the id of the case.
ONLY_THE_READER = {
    "no YAML": "syntax",
    "a duplicate key": "a parser of YAML drops one of them",
    "two groups without as": "the groups of an expression",
    "a lookahead": "RE2",
    "an open template": "templates",
    "a template without resource": "templates",
    "a method in a template": "templates",
    "a text in base64": "tags",
    "no PromQL": "PromQL",
    "a dropped label": "PromQL",
    "all labels dropped": "PromQL",
    "the same name twice": "a comparison of two entries",
    "an unknown backend": "a reference to another entry",
    "a URL with a bare percent sign": "the parts of a URL",
    "a URL with a port that is not a number": "the parts of a URL",
    "a header with a space in its name": "the syntax of headers",
}
INVALID = {case.id: case.values[0] for case in invalid_files.pytestmark[0].args[1]}


@pytest.fixture(scope="module")
def accepts():
    """Whether the schema accepts a text."""
    validate = fastjsonschema.compile(CONFIGURATION)

    def accepted(text: str) -> bool:
        try:
            validate(yaml.safe_load(text) or {})
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    return accepted


def configuration_in(path: Path) -> str:
    document = yaml.safe_load(path.read_text())
    return document["data"]["config.yaml"] if "data" in document else path.read_text()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_samples_are_accepted(accepts, path):
    text = configuration_in(path)
    assert parse(text)
    assert accepts(text)


@pytest.mark.parametrize("block", EXAMPLES, ids=str)
def test_the_documented_examples_are_accepted(accepts, block):
    assert accepts(configuration(block))


def test_the_default_rules_of_the_chart_are_accepted(accepts):
    rules = (ROOT / "charts" / "adapter" / "files" / "default-rules.yaml").read_text()
    assert accepts(yaml.safe_dump({"rules": yaml.safe_load(rules)}))


@pytest.mark.parametrize("case", [each for each in INVALID if each not in ONLY_THE_READER])
def test_what_the_reader_refuses_is_refused(accepts, case):
    assert not accepts(INVALID[case])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty file"),
        pytest.param("rules:\nmetrics:\nbackends: ~", id="null means nothing"),
        pytest.param("rules: [{seriesQuery: up, metricsQuery: 1}]", id="a number as a text"),
        pytest.param("resourceRules: {window: 1d12h, cpu: ~}", id="a long window"),
        pytest.param("externalRules: [{seriesQuery: up, resources: {namespaced: 'No'}}]", id="YAML 1.1"),
        pytest.param("backends: [{name: a, url: 'http://p', timeout: 1m30s, maxConcurrency: '5'}]", id="a backend"),
    ],
)  # fmt: skip
def test_what_the_reader_accepts_is_accepted(accepts, text):
    assert parse(text)
    assert accepts(text)


def fields(schema: dict, path: str = "") -> set[str]:
    """Every field of the schema, as `rules[].name.as`."""
    found = set()
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        found |= {here} | fields(inner, here)
    if "items" in schema:
        found |= fields(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        found |= fields(schema["additionalProperties"], f"{path}.*")
    return found


def known_to_the_reader(path: str) -> set[str]:
    """The fields of a block, which the reader names when it finds an unknown one."""
    inner = "{zzzzzz: 1}"
    for name in reversed(path.split(".") if path else []):
        key = name.removesuffix("[]").replace("*", "anything")
        inner = "{" + key + ": " + (f"[{inner}]" if name.endswith("[]") else inner) + "}"
    # `labels.object` exists only for a metric that describes objects.
    text = inner.replace("metrics: [{", "metrics: [{describes: pods, ")
    with pytest.raises(ConfigError) as refused:
        parse(text)
    (hint,) = [p.fix for p in refused.value.problems if p.problem == "unknown field `zzzzzz`"]
    found = re.fullmatch(r"Known fields: (.*)\.", hint)
    assert found, hint
    return set(found[1].split(", "))


BLOCKS = sorted(
    block
    for block in {field.rpartition(".")[0] for field in fields(CONFIGURATION)}
    if not block.endswith("overrides")  # its fields are the names of labels
)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_schema_has_exactly_the_fields_of_the_reader(block):
    own = {
        name
        for parent, _, name in (field.rpartition(".") for field in fields(CONFIGURATION))
        if parent == block
    }
    assert own == known_to_the_reader(block)


def test_every_field_has_a_description_for_editors():
    def undescribed(schema: dict, path: str = "") -> list[str]:
        missing = []
        for name, inner in schema.get("properties", {}).items():
            if "description" not in inner and "properties" not in inner:
                missing.append(f"{path}.{name}")
            missing += undescribed(inner, f"{path}.{name}")
        return missing + (undescribed(schema["items"], path) if "items" in schema else [])

    assert undescribed(CONFIGURATION) == []

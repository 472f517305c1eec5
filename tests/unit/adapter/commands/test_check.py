"""`check` reports every error of a file at once, for people and for CI."""

import msgspec
import pytest

from adapter.commands.check import main as check
from adapter.diagnosis.check_report import SCHEMA, Report

GOOD = """
rules:
- seriesQuery: 'http_requests_total{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
"""
BAD = """
rules:
- seriesQuery: up
  name: {matches: '('}
  resources: {template: '<<.Resource'}
  metricsQuery: up
  typo: 1
"""


@pytest.fixture
def checked(tmp_path, capsys):
    """`checked(text, *flags)`: the exit code, and what was printed to both streams."""

    def run(text: str | bytes | None, *flags: str) -> tuple[int, str]:
        file = tmp_path / "c.yaml"
        if text is not None:
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        code = check([str(file), *flags])
        out, err = capsys.readouterr()
        return code, out + err

    return run


def test_a_good_file_ends_with_0(checked):
    code, printed = checked(GOOD)
    assert code == 0
    assert "is accepted: 1 rule" in printed


def test_errors_do_not_hide_the_warnings(checked):
    code, printed = checked(BAD.replace("seriesQuery: up", "seriesQuery: 'up{'"))
    assert code == 2
    assert "warning: line 3: rules[0].seriesQuery" in printed


def test_every_error_is_reported_with_its_place_and_the_exit_code_is_2(checked):
    code, printed = checked(BAD)
    assert code == 2
    for place in ("rules[0].name.matches", "rules[0].resources.template", "typo"):
        assert place in printed
    assert " errors in " in printed


@pytest.mark.parametrize(
    ("text", "line", "place", "fault", "fix"),
    [
        pytest.param("rules:\n- seriesQuery: up\n   metricsQuery: up\n", 0, "(file)", "not YAML", "Fix the syntax", id="indentation"),
        pytest.param("rules:\n- seriesQuery: up\n  metricQuery: up\n", 3, "rules[0].metricQuery", "unknown field", "Did you mean `metricsQuery`?", id="a misspelled field"),
        pytest.param("rules:\n- metricsQuery: up\n", 2, "rules[0].seriesQuery", "missing", "Add a series selector", id="no selector"),
        pytest.param("rules:\n- seriesQuery: up\n  metricsQuery: up\n  name:\n    matches: '^(?!go_)'\n", 5, "rules[0].name.matches", "not a valid RE2 expression", "no lookaheads", id="a lookahead"),
        pytest.param("rules:\n- seriesQuery: up\n  metricsQuery: up\n  name: {matches: '^(.*)_(total|sum)$'}\n", 4, "rules[0].name.as", "2 groups", 'Add `as`, for example "${1}_per_second"', id="two groups and no name"),
        pytest.param("rules:\n- seriesQuery: up\n  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers}>>)'\n", 3, "rules[0].metricsQuery", "cannot be read: 1:", "line:column in the template", id="a template that does not close"),
        pytest.param("rules:\n- seriesQuery: up\n  metricsQuery: up\n  resources: {template: 'kube_<<.Group>>'}\n", 4, "rules[0].resources.template", "must contain <<.Resource>>", "kube_<<.Group>>_<<.Resource>>", id="a label template without the resource"),
        pytest.param("rules:\n- seriesQuery: up\n  metricsQuery: up\n  seriesFilters:\n  - {is: a, isNot: b}\n", 5, "rules[0].seriesFilters[0]", "both `is` and `isNot`", "Write exactly one", id="a filter that is two"),
        pytest.param("resourceRules:\n  cpu: {containerQuery: up, nodeQuery: up}\n  memory: {containerQuery: up, nodeQuery: up}\n  window: 5\n", 4, "resourceRules.window", "'5' is not a duration", "5m", id="a window without a unit"),
        pytest.param("metrics:\n- name: load\n  describes: pods\n  query: sum(load)\n", 4, "metrics[0].query", "drops the label pod and namespace", "by (pod, namespace)", id="a query that loses the pod"),
        pytest.param("metrics:\n- {name: load, query: up, backend: thanos}\n", 2, "metrics[0].backend", "no backend 'thanos'", "default", id="a backend that is not there"),
    ],
)  # fmt: skip
def test_the_report_on_a_broken_configuration_says_how_to_fix_it(
    checked, text, line, place, fault, fix
):
    code, printed = checked(text)
    assert code == 2
    assert place == "(file)" or place in printed
    assert fault in printed
    assert fix in printed
    code, document = checked(text, "--output=json")
    report = msgspec.json.decode(document, type=Report)
    assert (code, report.ok) == (2, False)
    [problem] = [each for each in report.errors if each.path == place and fault in each.problem]
    assert fix in problem.fix
    assert line in (0, problem.line)


def test_the_document_for_programs_keeps_its_names(checked):
    _, document = checked(BAD, "--output=json")
    read = msgspec.json.decode(document)
    assert list(read) == [
        "file",
        "ok",
        "ruleCount",
        "errors",
        "warnings",
        "prometheus",
        "resources",
        "rules",
        "overlaps",
        "schema",
    ]
    assert (read["schema"], list(read["errors"][0])) == (
        SCHEMA,
        ["code", "path", "line", "problem", "fix"],
    )


def test_a_warning_fails_only_when_strict(checked):
    text = GOOD.replace("resources:", "#")
    code, printed = checked(text)
    assert code == 0
    assert "warning: line 3: rules[0].resources: no label is mapped to a resource" in printed
    assert "(1 warning)" in printed
    code, printed = checked(text, "--strict")
    assert code == 2
    assert "has warnings" in printed


@pytest.mark.parametrize("content", [None, b"\xff"], ids=["absent", "no text"])
def test_a_file_that_cannot_be_read_is_a_fault(checked, content):
    code, printed = checked(content)
    assert code == 2
    assert "cannot be read" in printed


def test_a_file_that_is_not_utf_8_must_be_saved_as_such(checked):
    code, printed = checked(f"{GOOD}# é".encode("latin-1"))
    assert code == 2
    assert "cannot be read: it is not UTF-8. Save it as UTF-8." in printed


@pytest.mark.parametrize(
    ("flags", "fault"),
    [
        pytest.param(("--prometheus-url=prometheus:9090",), "must look like http://host:9090", id="a URL without scheme"),
        pytest.param(("--output=yaml",), "invalid choice: 'yaml'", id="an output that is none"),
        pytest.param(("--prometheus-url=http://p", "--prometheus-token-file=/nowhere/token"), "a --prometheus-*-file cannot be used", id="a token file that is not there"),
        pytest.param(("--prometheus-url=http://p", "--kubeconfig=/nowhere/config"), "no such file", id="a kubeconfig that is not there"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_refused_with_the_fix(checked, capsys, flags, fault):
    try:
        code, printed = checked(GOOD, *flags)
    except SystemExit as ended:
        code, printed = ended.code, capsys.readouterr().err
    assert code == 2
    assert fault in printed


VALUES = "rules:\n  default: false\n  metrics:\n  - {name: load, query: sum(load)}\n"


def test_several_files_are_checked_and_the_worst_decides_the_exit_code(tmp_path, capsys):
    good, bad, values = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "values.yaml"
    good.write_text(GOOD)
    bad.write_text(BAD)
    values.write_text(VALUES)
    assert check([str(good), str(values)]) == 0
    assert f"{values}: values is accepted: 1 rule\n" in capsys.readouterr().out
    assert check([str(good), str(bad)]) == 2
    output = capsys.readouterr()
    assert f"{good} is accepted" in output.out
    assert "typo" in output.err
    assert check(["--output=json", str(good), str(values)]) == 0
    reports = msgspec.json.decode(capsys.readouterr().out, type=list[Report])
    assert [report.file for report in reports] == [str(good), f"{values}: values"]


@pytest.mark.parametrize(
    "document",
    ["kind: Service", "kind: ConfigMap\ndata: text", "kind: ConfigMap\ndata: {a: [config.yaml]}"],
)
def test_a_file_without_any_configuration_is_an_error_with_what_was_expected(
    tmp_path, capsys, document
):
    file = tmp_path / "service.yaml"
    file.write_text(f"apiVersion: v1\n{document}\n")
    assert check([str(file)]) == 2
    assert capsys.readouterr().err == (
        f"{file}: no configuration found. Expected a file with rules or metrics, a ConfigMap with such a file as text in its data, "
        "such as config.yaml, or values of the chart\n"
    )


def test_rules_that_could_not_be_tried_are_not_checked_and_the_cause_is_reported_once(
    tmp_path, capsys
):
    file = tmp_path / "c.yaml"
    file.write_text(GOOD + GOOD.replace("rules:\n", "").lstrip("\n"))
    assert check([str(file), "--prometheus-url=http://127.0.0.1:1"]) == 1
    output = capsys.readouterr().out
    assert output.count("not checked") == 3
    assert output.count("PrometheusDown") == 1
    assert "yields nothing" not in output
    assert "2 not checked" in output

"""The report of `check` for people: what it says about each rule, and its last line."""

import pytest

from adapter.commands.check_text import text_of
from adapter.diagnosis.check_report import Problem, Report, RuleReport
from adapter.diagnosis.explanation import Finding

DOWN = Finding(step="samples", reason="PrometheusDown", message="down", fix="Start it.")


def rule(*, yields: bool, series: int = 0, findings: tuple[Finding, ...] = ()) -> RuleReport:
    return RuleReport(
        rule="rules[0]", backend="default", yields=yields, series_seen=series, findings=findings
    )


GOOD, BAD = rule(yields=True), rule(yields=False)
UNCHECKED = rule(yields=False, findings=(DOWN,))


@pytest.mark.parametrize(
    ("rules", "ok", "verdict"),
    [
        pytest.param([], True, "c.yaml is accepted: 2 rules", id="not tried"),
        pytest.param([GOOD], True, "c.yaml is accepted: 1 rule", id="one"),
        pytest.param([GOOD] * 4, True, "c.yaml is accepted: 4 rules", id="rules of resources count"),
        pytest.param([BAD], True, "c.yaml is accepted, but its only rule yields nothing", id="the only one"),
        pytest.param([GOOD, GOOD, GOOD, BAD], True, "c.yaml is accepted, but 1 of 4 rules yields nothing", id="one of many"),
        pytest.param([BAD, BAD, GOOD], True, "c.yaml is accepted, but 2 of 3 rules yield nothing", id="two of many"),
        pytest.param([UNCHECKED, UNCHECKED], True, "c.yaml is accepted: 2 rules, 2 not checked", id="not checked"),
        pytest.param([BAD, GOOD], False, "c.yaml has warnings, and --strict is set: 1 of 2 rules yields nothing", id="strict"),
    ],
)  # fmt: skip
def test_the_last_line_counts_the_rules_that_the_report_lists(rules, ok, verdict):
    report = Report(file="c.yaml", ok=ok, rule_count=2, rules=tuple(rules))
    assert text_of(report).splitlines()[-1] == verdict


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (rule(yields=True), "rules[0]: has values"),
        (rule(yields=True, series=2), "rules[0]: 2 series"),
        (rule(yields=False), "rules[0]: yields nothing"),
        (rule(yields=False, series=2), "rules[0]: yields nothing from 2 series"),
        (UNCHECKED, "rules[0]: not checked"),
    ],
)
def test_each_rule_begins_with_what_it_yields(report, line):
    assert text_of(Report(file="c.yaml", ok=True, rules=(report,))).splitlines()[0] == line


@pytest.mark.parametrize(
    ("path", "line", "place"),
    [
        ("(file)", 0, "c.yaml: cannot be read"),
        ("(file)", 3, "c.yaml: line 3: cannot be read"),
        ("rules[0]", 3, "c.yaml: line 3: rules[0]: cannot be read"),
    ],
)
def test_a_problem_of_the_whole_file_has_no_path(path, line, place):
    problem = Problem(code="X", path=path, line=line, problem="cannot be read", fix="Fix it.")
    assert text_of(Report(file="c.yaml", ok=False, errors=(problem,))).startswith(f"{place}. ")

"""What tests found is printed at the end."""

from typing import Literal

import pytest

from tests.summaries import SUMMARY, summaries


def report(
    when: Literal["setup", "call", "teardown"], *properties: tuple[str, object]
) -> pytest.TestReport:
    return pytest.TestReport(
        "tests/test_a.py::test_a",
        ("tests/test_a.py", 1, "test_a"),
        {},
        "passed",
        None,
        when,
        user_properties=properties,
    )


def test_the_summary_of_a_test_is_found_once_although_each_phase_reports_it():
    found = (SUMMARY, "5 scenarios, 0 differ")
    reports = [report("setup"), report("call", ("other", 1), found), report("teardown", found)]
    assert list(summaries(reports)) == ["5 scenarios, 0 differ"]


def test_what_is_not_the_report_of_a_test_is_passed_over():
    assert not list(summaries(["a warning", object()]))

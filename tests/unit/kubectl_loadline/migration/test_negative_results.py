"""Which queries of triggers get `clamp_min`, by their syntax."""

import pytest

from kubectl_loadline.migration.negative_results import may_be_negative

NEVER = (
    "sum(rate(a[5m]))",
    "rate(a[5m]) offset 5m",
    "(sum by (x) (increase(a[5m])))",
    "count(a)",
    'count_values("v", a)',
    "stddev(a)",
    "topk(1, rate(a[5m]))",
    "a > bool 0",
    "rate(a[5m]) > 1",
    "1 < rate(a[5m])",
    "sum(rate(a[5m])) or vector(0)",
    "rate(a[1m]) / rate(b[1m]) * 100",
    "rate(a[5m]) ^ 2 % 10",
    "avg_over_time(rate(a[1m])[5m:])",
    "count_over_time(a[5m])",
    "clamp_min(a, 0)",
    'label_replace(rate(a[5m]), "x", "y", "", "")',
    "abs(a) unless b",
    "abs(a) and b",
    "minute()",
    "vector(1)",
)
MAY_BE = (
    "a",
    "a offset 5m",
    "sum(a)",
    "sum(requests_total)",
    "-rate(a[5m])",
    "+a",
    "a > 0",
    "1 < a",
    "b and abs(a)",
    "sum(a) or vector(0)",
    "vector(0) or a",
    "100 - rate(a[1m])",
    "rate(a[5m]) atan2 rate(b[5m])",
    "avg_over_time(a[5m])",
    "clamp_min(a, -1)",
    "clamp_max(a, 1)",
    "deriv(a[5m])",
    "predict_linear(a[5m], 60)",
    "ln(rate(a[5m]))",
    "histogram_quantile(0.9, rate(a_bucket[5m]))",
    "quantile(-1, rate(a[5m]))",
    "vector(-1)",
    "rate(a[5m]) * sin(b)",
)
OF_UNKNOWN_FUNCTIONS = (
    "sum(jobs_created) - median(jobs_done)", "holt_winters(x[1h], 0.5, 0.5)", "range_avg(x)",
)  # fmt: skip
NOT_A_VECTOR = ("1", "-1", "time() - 5", "scalar(a)", '"text"', "sum(", "")


@pytest.mark.parametrize("query", NEVER)
def test_a_result_that_is_never_negative_is_not_changed(query):
    assert not may_be_negative(query)


@pytest.mark.parametrize("query", [*MAY_BE, *OF_UNKNOWN_FUNCTIONS])
def test_a_result_may_be_negative_unless_the_syntax_excludes_it(query):
    assert may_be_negative(query)


@pytest.mark.parametrize("query", NOT_A_VECTOR)
def test_what_is_not_a_vector_is_left_to_the_adapter(query):
    """`clamp_min` of a scalar is a syntax error, and KEDA refuses such a result."""
    assert not may_be_negative(query)

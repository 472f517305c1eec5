"""Formulas: the syntax and its errors, and values compared with Python's own evaluation."""

import inspect
import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import FailedInput
from scaler.extensions.formula.evaluation import FormulaFailedError, evaluate
from scaler.extensions.formula.grammar import HEIGHT_MAX, LENGTH_MAX, InvalidFormulaError, parse

INPUTS = {
    "queue": 90.0, "rps": 500.0, "zero": 0.0, "queue-depth": 3.0, "down": FailedInput("no data"), "nan": math.nan,
}  # fmt: skip


def value(text: str) -> float:
    return evaluate(parse(text), INPUTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42", 42), (".5", 0.5), ("1.5e3", 1500), ("queue", 90), ("'queue-depth'", 3), ("'queue'", 90),
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("10 - 4 - 3", 3), ("12 / 3 / 2", 2), ("-2 * -3", 6), ("- - 2", 2), ("2 - -3", 5),
        ("max(queue / 30, rps / 200)", 3), ("max(5) + min(5) + avg(5)", 15), ("min(queue, rps, 7)", 7), ("avg(1, 2, 6)", 3), ("ceil(1.2) + floor(1.8)", 3),
        ("clamp(queue, 1, 20)", 20), ("clamp(-5, 1, 20)", 1), ("clamp(5, 1, 20)", 5),
        ("queue > 50", 1), ("queue <= 50", 0), ("(queue > 50) * 10", 10), ("1 + 1 == 2", 1), ("1 != 1", 0), ("2 >= 2", 1), ("1 < 2", 1),
        ("down ?? 5", 5), ("queue ?? 5", 90), ("down ?? down ?? 7", 7), ("(down + 1) ?? 2", 2), ("missing ?? 1", 1),
        ("down ?? 30 / 30", 1), ("max(down ?? 0, 2)", 2), ("'queue-depth' - queue", -87),
    ],
)  # fmt: skip
def test_a_formula_has_this_value(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "position 1: expected a number, a metric or a function, not the end"),
        ("1 +", "position 4: expected a number"),
        ("(1", "position 3: expected ')' or an operator, not the end"),
        ("1 2", "position 3: expected an operator or the end, not '2'"),
        ("1)", "position 2: expected an operator or the end, not ')'"),
        ("a = b", "position 3: unexpected '=': write == to compare"),
        ('"queue"', "position 1: unexpected '\"': write the name of a metric in single quotes"),
        ("'queue", 'position 1: unexpected "\'": the closing quote is missing'),
        ("a % 2", "position 3: unexpected '%'"),
        ("2 ^ 2", "position 3: unexpected '^': powers are not supported"),
        ("a ? 1", "position 3: unexpected '?': write ??"),
        ("sum(a)", "position 1: unknown function 'sum': use one of min, max"),
        ("ceil(1, 2)", "position 1: ceil has 1 argument, not 2"),
        ("clamp(1)", "position 1: clamp has 3 arguments: value, lowest, highest, not 1"),
        ("min()", "position 5: expected a number"),
        ("1 < 2 < 3", "position 7: comparisons cannot be chained"),
        ("Queue", "position 1: 'Queue' is not the name of a metric"),
        ("queue_depth", "'queue_depth' is not the name of a metric, which is a DNS label"),
        ("'-a'", "position 2: '-a' is not the name of a metric"),
        ("1e999", "position 1: 1e999 is too large"),
        ("1" * (LENGTH_MAX + 1), "at most 1024 characters"),
        ("(" * 60 + "1" + ")" * 60, "nested deeper than 50 levels"),
        ("-" * 60 + "1", "nested deeper than 50 levels"),
        ("+".join(["1"] * 500), "more than 100 operations follow each other"),
        ("__import__('os')", "unknown function '__import__'"),
        ("a.b", "position 2: unexpected '.'"),
        ("a[0]", "position 2: unexpected '['"),
    ],
)  # fmt: skip
def test_an_invalid_formula_names_the_position_and_the_fix(text, message):
    with pytest.raises(InvalidFormulaError) as raised:
        parse(text)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queue / zero", "position 7: division by zero"),
        ("queue / (1 - 1) ?? 5", "position 7: division by zero"),
        ("1e300 * 1e300", "position 7: the result is too large"),
        (
            "avg(1.7976931348623157e308, 1.7976931348623157e308, 1.7976931348623157e308)",
            "position 1: the result is too large",
        ),
        ("clamp(1, 5, 2)", "position 1: clamp has a lowest value (5) above its highest (2)"),
        ("down + 1", "the metric down failed: no data"),
        ("max(queue, down)", "the metric down failed: no data"),
        ("missing", "the metric missing does not exist"),
        ("nan ?? 1", "the metric nan is not a finite number"),
    ],
)
def test_a_formula_without_a_value_says_why(text, message):
    with pytest.raises(FormulaFailedError) as raised:
        value(text)
    assert message in str(raised.value)


def test_the_metrics_of_a_formula_are_listed_once_in_their_order():
    assert [each.name for each in parse("b / a + b + 'c-d'").metrics] == ["b", "a", "c-d"]


numbers = st.one_of(
    st.integers(0, 1000).map(str), st.sampled_from(["queue", "rps", "0.25", "1.5e2"])
)


def combined(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", " * ", " / "]), inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})"),
        st.tuples(inner, st.sampled_from([" + ", " * "]), inner, st.sampled_from([" - ", " / "]), inner).map(lambda p: f"({''.join(p)})"),
        st.tuples(inner, st.sampled_from([" < ", " <= ", " > ", " >= ", " == ", " != "]), inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})"),
        inner.map(lambda each: f"(-{each})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        inner.map(lambda each: f"ceil({each})"),
    )  # fmt: skip


formulas = st.recursive(numbers, combined, max_leaves=12)


@given(text=formulas)
def test_a_formula_has_the_value_that_python_computes(text):
    """Python's grammar and precedence are the same for these operators; it is used in this test only."""
    names = {"queue": 90.0, "rps": 500.0, "min": min, "max": max, "ceil": math.ceil}
    try:
        expected = float(eval(text, {"__builtins__": {}}, names))
    except ZeroDivisionError:
        with pytest.raises(FormulaFailedError, match="division by zero"):
            value(text)
        return
    assert math.isclose(value(text), expected, rel_tol=1e-12, abs_tol=1e-12)


@given(values=st.lists(st.floats(0, 1e300), min_size=1, max_size=9))
def test_an_average_is_exact_to_rounding_and_never_overflows(values):
    text = f"avg({', '.join(repr(each) for each in values)})"
    exact = sum(map(Fraction, values)) / len(values)
    assert math.isclose(value(text), float(exact), rel_tol=1e-12, abs_tol=1e-300)


@given(text=st.text(alphabet="()+-*/<>=?!,.'0123456789eabminx \n\t\\_\"", max_size=200))
def test_any_text_is_a_value_or_an_error_of_its_own(text):
    try:
        assert math.isfinite(value(text))
    except (InvalidFormulaError, FormulaFailedError):
        return


@given(failed=st.sets(st.sampled_from(["queue", "rps"])), low=st.integers(0, 9))
def test_a_replacement_is_used_for_exactly_the_failed_metrics(failed, low):
    inputs = {
        name: FailedInput("x") if name in failed else INPUTS[name] for name in ("queue", "rps")
    }
    found = evaluate(parse(f"(queue ?? {low}) + (rps ?? {low})"), inputs)
    assert found == (low if "queue" in failed else 90) + (low if "rps" in failed else 500)


@pytest.mark.parametrize(
    "text",
    [
        "+".join(["1"] * HEIGHT_MAX), "1+" * 100 + "1", "max(" * 50 + "1" + ")" * 50, "'" * 1024, "?" * 1024, " " * 1024,
        "9" * 1024, "max(" + ",".join("1" * 500) + ")", "a" * 1024,
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_long_formula_is_parsed_and_evaluated_in_bounded_time(text):
    begun = time.process_time()
    for _ in range(10):
        try:
            # What `parse` keeps is left out.
            evaluate(inspect.unwrap(parse)(text), INPUTS)
        except (InvalidFormulaError, FormulaFailedError):
            continue
    assert time.process_time() - begun < 1

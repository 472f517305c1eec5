"""Which mutants run, what is recorded of them, and that the documentation says the same."""

import re
from pathlib import Path

import pytest

from testbed.mutants.candidates import Mutant, chosen, mutants_of
from testbed.mutants.packages import MUTATED
from testbed.mutants.results import (
    Recorded,
    Result,
    Score,
    equivalent,
    record,
    recorded,
    scores,
)

ROOT = Path(__file__).parents[3]
PERCENT_MIN = 95
MUTANTS_MIN = 300


def generated(before: str, *after: str, name: str = "x_bound") -> str:
    """As mutmut writes a function of one line and its variants."""
    variants = {"orig": before, **dict(enumerate(after, start=1))}
    return "\n".join(
        f"def {name}__mutmut_{number}(count, least):\n    {line}"
        for number, line in variants.items()
    )


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        pytest.param(
            "return count > least and least",
            "return count >= least and least",
            "count > least -> count >= least",
            id="a comparison",
        ),
        pytest.param("return count + 1", "return count + 2", "count + 1 -> count + 2", id="number"),
        pytest.param("return True", "return False", "return True -> return False", id="truth"),
        pytest.param(
            "return not least", "return least", "return not least -> return least", id="not"
        ),
        pytest.param(
            "return count if least else 1",
            "return count if least or True else 1",
            "count if least else 1 -> count if least or True else 1",
            id="a condition",
        ),
        pytest.param("return f(count)", "return f(None)", None, id="a value replaced by None"),
        pytest.param("count = None", "count = ''", None, id="None replaced by a text"),
        pytest.param("return f(count, least)", "return f(count, )", None, id="an argument"),
        pytest.param("return 'few'", "return 'FEW'", None, id="a text"),
    ],
)
def test_a_mutant_changes_what_is_computed(before, after, change):
    found = mutants_of(generated(before, after), "scaler.bounds")
    expected = [Mutant("scaler.bounds.bound", change or "", "scaler.bounds.x_bound__mutmut_1")]
    assert found == (expected if change else [])


def test_a_method_is_known_by_its_class():
    [found] = mutants_of(generated("return 1", "return 2", name="xǁRateǁ_limit"), "scaler.rate")
    assert found.function == "scaler.rate.Rate._limit"
    assert found.mutmut_name == "scaler.rate.xǁRateǁ_limit__mutmut_1"


def test_equal_changes_of_a_function_are_numbered():
    found = mutants_of(
        generated("return 1 + 1", "return 2 + 1", "return 1 + 2", "return 2 + 1"), "m"
    )
    assert [each.change for each in found] == [
        "1 + 1 -> 2 + 1",
        "1 + 1 -> 1 + 2",
        "1 + 1 -> 2 + 1 (2)",
    ]


def test_the_sample_hardly_changes_when_mutants_are_added_or_numbered_again():
    before = [Mutant("f", f"{number} -> 0", f"f_{number}") for number in range(100)]
    after = [
        Mutant("f", each.change, f"f_{i + 1}") for i, each in enumerate([*before[1:], *before])
    ]
    kept = {each.key for each in chosen(before, 20)} & {each.key for each in chosen(after, 20)}
    assert len(chosen(before, 20)) == 20
    assert chosen(before, 20) == chosen(before[::-1], 20)
    assert len(kept) >= 10


def test_a_timeout_is_found_and_what_no_test_calls_survives(tmp_path):
    found = [Recorded("p", "f", result, result) for result in Result if result != Result.NOT_RUN]
    record(found, tmp_path / "recorded.jsonl")
    assert recorded(tmp_path / "recorded.jsonl") == sorted(found)
    [score] = scores(found)
    assert score == Score("p", found=2, survived=2, equivalent=1)
    assert score.percent == 50


@pytest.mark.parametrize("package", MUTATED, ids=lambda each: each.name)
def test_what_is_mutated_and_the_tests_that_must_find_it_exist(package):
    for pattern in package.sources:
        assert list(ROOT.glob(pattern)), pattern
    for path in (*package.tests, *package.further):
        file, _, test = path.removeprefix("--deselect=").partition("::")
        assert (ROOT / file).exists(), path
        assert not test or f"def {test}(" in (ROOT / file).read_text()


def test_each_package_is_scored_and_enough_mutants_are_found():
    found = scores(recorded())
    assert {each.package for each in found} == {each.name for each in MUTATED}
    assert [each for each in found if each.percent < PERCENT_MIN] == []
    assert sum(each.found for each in found) >= MUTANTS_MIN


def test_each_mutant_that_cannot_be_found_has_a_reason_and_was_recorded_as_such():
    reasons = {each.key: each.reason for each in equivalent()}
    assert all(len(reason) > 20 for reason in reasons.values())
    excused = {each.key for each in recorded() if each.result == Result.EQUIVALENT}
    assert excused == reasons.keys()


def test_the_documentation_has_the_recorded_scores_and_survivors():
    text = (ROOT / "docs" / "testing.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \|.*\| (\d+) \| (\d+) \| (\d+) \| ([\d.]+)% \|$", text, re.MULTILINE
    )
    found = scores(recorded())
    assert [(row[0], *map(int, row[1:4])) for row in rows] == [
        (each.package, each.found, each.survived, each.equivalent) for each in found
    ]
    assert [row[4] for row in rows] == [f"{each.percent:.1f}" for each in found]
    survivors = [each for each in recorded() if each.result in (Result.SURVIVED, Result.NO_TESTS)]
    for each in survivors:
        assert f"`{each.function}`: `{each.change}`" in text

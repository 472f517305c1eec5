"""docs/conditions.md names every condition, every reason and every event that the code of the scaler has."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.algorithm.conditions import MESSAGE_OF_REASON
from scaler.api.autoscaler import ConditionType
from scaler.extensions import EXTENSIONS

PAGE = (Path(__file__).parents[2] / "docs" / "conditions.md").read_text("utf-8")
WORDS = re.compile(r"(?:[A-Z][a-z]+){2,}")


def reasons_of(extension: object) -> Iterator[str]:
    """Words in camel case that the code of an extension uses as reasons of conditions and events."""
    file = Path(str(sys.modules[type(extension).__module__].__file__))
    folder = file.parent
    for path in sorted(folder.glob("*.py")) if folder.name != "extensions" else [file]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from WORDS.findall(node.value) if WORDS.fullmatch(node.value) else ()


# Names in the code of the schedules: kinds of rules, and neither conditions nor reasons.
OTHER_WORDS = {"RecurringStarts", "RuleDays"}
REASONS = {
    each for extension in EXTENSIONS if extension.conditions for each in reasons_of(extension)
}


def events_in_the_code() -> Iterator[str]:
    """The reasons of events: of `Event` and `warning`, and arguments such as `event_reason`."""
    for path in sorted((Path(__file__).parents[2] / "scaler").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Name(id="warning"), args=[ast.Constant(value=str(reason)), *_]
                ):
                    yield reason
                case ast.keyword(
                    arg="event_reason" | "failed_reason", value=ast.Constant(value=str(reason))
                ):
                    yield reason
                case ast.Call(func=ast.Name(id="Event"), keywords=given):
                    for each in given:
                        if each.arg == "reason" and isinstance(each.value, ast.Constant):
                            yield str(each.value.value)


EVENTS = PAGE.partition("\n## Events\n")[2]


@pytest.mark.parametrize("reason", sorted(set(events_in_the_code())))
def test_an_event_is_listed(reason):
    assert f"`{reason}`" in EVENTS


def test_events_are_found_in_the_code():
    expected = {"FailedPodDeletionCost", "SelectorRequired", "InternalError", "SuccessfulRescale"}
    assert expected <= set(events_in_the_code())


@pytest.mark.parametrize("condition", ConditionType)
def test_a_condition_has_a_row(condition):
    assert f"\n| {condition} |" in PAGE


@pytest.mark.parametrize("reason", sorted({*MESSAGE_OF_REASON, *REASONS} - OTHER_WORDS))
def test_a_reason_is_explained(reason):
    assert f"`{reason}`" in PAGE


def test_reasons_are_found_in_the_code():
    assert {"TooMuchWaste", "CandidateAborted", "PodsNotReady"} <= REASONS
    assert OTHER_WORDS <= REASONS

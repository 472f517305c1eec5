"""Label selectors against k8s.io/apimachinery/pkg/labels: grammar, words of errors, matching and conversion."""

import msgspec
import pytest

from wire.api import labels
from wire.api.meta import LabelSelector, go_string


class Read(msgspec.Struct, rename="camel"):
    text: str = ""
    error: str = ""
    string: str = ""
    matches: str = ""
    object: msgspec.Raw = msgspec.Raw(b"")
    object_error: str = ""
    go_string: str = ""
    label_sets: list[dict[str, str]] = []


class Object(msgspec.Struct, rename="camel"):
    object: LabelSelector | None
    error: str = ""
    string: str = ""
    matches: str = ""
    go_string: str = ""


@pytest.fixture
def read(rows):
    """The rows of selector texts; the file's first line holds the label sets instead."""
    return rows("selectors.jsonl", Read)[1:]


@pytest.fixture
def matches(rows):
    label_sets = rows("selectors.jsonl", Read)[0].label_sets

    def digits(selector):
        return "".join("01"[selector.matches(label_set)] for label_set in label_sets)

    return digits


def answer(call):
    """What a call returns and what it refuses with, as upstream's pair of result and error."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error)


def test_the_same_selectors_are_read_and_refused_with_the_same_messages(read):
    wrong = []
    for row in read:
        _, error = answer(lambda text=row.text: labels.parse(text))
        if error != row.error:
            wrong.append((row.text, error, row.error))
    assert wrong == []


def test_selectors_print_and_match_as_upstream(read, matches):
    wrong = []
    for row in read:
        if row.error:
            continue
        selector = labels.parse(row.text)
        if (str(selector), matches(selector)) != (row.string, row.matches):
            wrong.append((row.text, str(selector), row.string, matches(selector), row.matches))
    assert wrong == []


def test_selectors_become_the_same_objects(read):
    wrong = []
    for row in read:
        if row.error:
            continue
        selector = labels.parse(row.text)
        found, error = answer(lambda selector=selector: labels.to_label_selector(selector))
        encoded = msgspec.json.encode(found) if found is not None else b""
        if (encoded, error) != (bytes(row.object), row.object_error):
            wrong.append((row.text, encoded, error, bytes(row.object), row.object_error))
        if found is not None and go_string(found) != row.go_string:
            wrong.append((row.text, go_string(found), row.go_string))
    assert wrong == []


def test_objects_become_the_same_selectors(rows, matches):
    wrong = []
    for row in rows("objects.jsonl", Object):
        found, error = answer(lambda given=row.object: labels.from_label_selector(given))
        got = (str(found), matches(found)) if found is not None else ("", "")
        if (*got, error) != (row.string, row.matches, row.error):
            wrong.append((row, got, error))
        if go_string(row.object) != row.go_string:
            wrong.append((row, go_string(row.object)))
    assert wrong == []

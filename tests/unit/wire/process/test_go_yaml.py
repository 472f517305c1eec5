"""YAML as Go's programs read it; tests/conformance/adapter has the vectors."""

import pytest
import yaml

from wire.process import go_yaml


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n"])
def test_an_empty_text_has_no_value(text):
    assert go_yaml.load(text) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_says_the_encoding(encoding):
    assert go_yaml.decoded_text("a: é\n".encode(encoding)) == "a: é\n"


def test_utf_16_with_the_higher_byte_first_is_read():
    assert go_yaml.decoded_text(b"\xfe\xff" + "a: é\n".encode("utf-16-be")) == "a: é\n"


@pytest.mark.parametrize("content", [b"a: \xe9", b"\xff\xfea"])
def test_bytes_that_are_not_text_are_an_error(content):
    with pytest.raises(UnicodeDecodeError):
        go_yaml.decoded_text(content)


def test_each_document_is_read():
    assert list(go_yaml.load_all("a: 1\n---\nb: 2\n")) == [{"a": 1}, {"b": 2}]


def test_tabs_separate_tokens():
    assert go_yaml.load('{\n\t"a":\t1\t# one\n}\n') == {"a": 1}


@pytest.mark.parametrize("text", ["a:\n\tb: 1\n", "\ta: 1\n"])
def test_tabs_do_not_indent(text):
    with pytest.raises(yaml.YAMLError):
        go_yaml.load(text)


def test_an_anchor_that_is_defined_again_is_the_new_one_from_there_on():
    assert go_yaml.load("[&a 1, *a, &a 2, *a]") == [1, 1, 2, 2]


def test_a_merge_replaces_the_fields_before_it_and_is_replaced_by_those_after_it():
    text = "[&a {x: 1, y: {z: 1}}, {x: 2, <<: *a}, {<<: *a, y: {w: 2}}]"
    assert go_yaml.load(text)[1:] == [{"x": 1, "y": {"z": 1}}, {"x": 1, "y": {"w": 2}}]


def test_marks_are_those_of_the_text():
    [node] = go_yaml.documents("a: 1\nb:\t{c: é}\n")
    key, value = go_yaml.without_merges(node).value[1]
    assert [(each.start_mark.line, each.start_mark.column) for each in (key, value)] == [
        (1, 0),
        (1, 3),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x [*x]", "contains itself"),
        ("a: &x {b: *x}", "contains itself"),
        ("a: &x {<<: *x}", "nested too deeply"),
        ("[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("{a: " * 600 + "1" + "}" * 600, "nested too deeply"),
    ],
)
def test_a_document_without_an_end_is_an_error(text, problem):
    with pytest.raises(yaml.YAMLError, match=problem):
        go_yaml.load(text)


def test_a_date_is_text():
    assert go_yaml.load("a: 2026-11-27\nb: 2024-31-12") == {"a": "2026-11-27", "b": "2024-31-12"}

"""Quantities against k8s.io/apimachinery/pkg/api/resource: every row is what the Go code answered."""

import math

import msgspec

from wire.api.quantity import Format, Quantity, format_milli

FORMATS = (Format.DECIMAL_SI, Format.BINARY_SI, Format.DECIMAL_EXPONENT)


class Read(msgspec.Struct):
    text: str
    refused: bool = False
    string: str = ""
    canonical: str = ""
    milli: int = 0
    value: int = 0
    float: str = "0"


class Amount(msgspec.Struct):
    amount: int
    milli: tuple[str, str, str]
    whole: tuple[str, str, str]


class Sum(msgspec.Struct):
    left: str
    right: str
    cmp: int
    sum: str
    milli: int


def parsed(text: str) -> Quantity | None:
    try:
        return Quantity.parse(text)
    except ValueError:
        return None


def without_text(quantity: Quantity) -> Quantity:
    return msgspec.structs.replace(quantity, text="")


def loses_its_suffix_upstream(quantity: Quantity) -> bool:
    """The one difference in printing: from 1000E on, upstream prints `1` where we print `1000E`."""
    return (
        quantity.format is Format.DECIMAL_SI
        and quantity.mantissa
        and quantity.milli_value() % 10**24 == 0
    )


def test_the_same_texts_are_read_and_refused(rows):
    wrong = [
        row.text
        for row in rows("quantities.jsonl", Read)
        if (parsed(row.text) is None) != row.refused
    ]
    assert wrong == []


def test_every_text_prints_as_upstream_prints_it(rows):
    wrong = []
    for row in rows("quantities.jsonl", Read):
        quantity = parsed(row.text)
        if quantity is None or loses_its_suffix_upstream(quantity):
            continue
        printed = (str(quantity), str(without_text(quantity)))
        if printed != (row.string, row.canonical or row.string):
            wrong.append((row.text, printed, row.string, row.canonical))
    assert wrong == []


def test_a_quantity_that_upstream_prints_as_another_number_keeps_its_value(rows):
    quantities = [
        quantity
        for row in rows("quantities.jsonl", Read)
        if (quantity := parsed(row.text)) and loses_its_suffix_upstream(quantity)
    ]
    assert len(quantities) >= 5
    assert [q for q in quantities if Quantity.parse(str(without_text(q))) != q] == []


def test_milli_value_and_value_overflow_as_upstream_does(rows):
    wrong = []
    for row in rows("quantities.jsonl", Read):
        quantity = parsed(row.text)
        if quantity is None:
            continue
        got = (quantity.milli_value_int64(), quantity.value_int64())
        if got != (row.milli, row.value):
            wrong.append((row.text, got, row.milli, row.value))
    assert wrong == []


def test_the_approximate_float_is_upstreams_to_the_last_bit(rows):
    wrong = []
    for row in rows("quantities.jsonl", Read):
        quantity = parsed(row.text)
        if quantity is None:
            continue
        got, expected = quantity.approximate_float(), float(row.float)
        if got != expected and not (math.isnan(got) and math.isnan(expected)):
            wrong.append((row.text, got, expected))
    assert wrong == []


def test_amounts_print_as_upstream_prints_them_in_each_format(rows):
    wrong = []
    for row in rows("amounts.jsonl", Amount):
        milli = tuple(str(Quantity.from_milli(row.amount, format_)) for format_ in FORMATS)
        whole = tuple(str(Quantity.from_int(row.amount, format_)) for format_ in FORMATS)
        if (milli, whole) != (row.milli, row.whole) or format_milli(row.amount) != row.milli[0]:
            wrong.append((row.amount, milli, row.milli, whole, row.whole))
    assert wrong == []


def test_sums_and_comparisons_are_upstreams(rows):
    wrong = []
    for row in rows("sums.jsonl", Sum):
        left, right = Quantity.parse(row.left), Quantity.parse(row.right)
        total = left + right
        compared = (left > right) - (left < right)
        if (compared, str(total), total.milli_value_int64()) != (row.cmp, row.sum, row.milli):
            wrong.append((row, compared, str(total), total.milli_value_int64()))
    assert wrong == []

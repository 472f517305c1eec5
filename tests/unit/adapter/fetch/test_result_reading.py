"""What is claimed for a response to a query is at least what it takes, whatever a backend sends."""

import pytest

from adapter.caches import MIB
from adapter.fetch.reading_budget import reading_budget
from adapter.fetch.result_reading import ResultReading
from tests.traced_memory import traced_memory
from wire.prometheus.transport import PIECE_BYTES, NoAnswer

VECTOR = b'{"status":"success","data":{"resultType":"vector","result":[%s]}}'
SORTED = b'{"data":{"result":[%s],"resultType":"vector"},"status":"success"}'
SPACED = b'{"status": "success", "data": {"resultType": "vector", "result": [%s]}}'
SLICES_BYTES = MIB // 2
"""What is being decoded at a time. It is a part of each response that is not counted."""


def rows_of(row: bytes, count: int) -> bytes:
    return b",".join([row] * count)


async def read(body: bytes):
    """The evaluation, what was claimed for it, the most memory that reading it has taken, and what is left of that."""
    pieces = [body[begin : begin + PIECE_BYTES] for begin in range(0, len(body), PIECE_BYTES)]
    with traced_memory() as memory, reading_budget().claim() as claim:
        reading = ResultReading(claim, bytes_max=len(body))
        for piece in pieces:
            await reading.take(piece)
        evaluation = await reading.evaluation(sent_seconds=0.0, taken_seconds=0.1)
        del reading
        left_bytes, taken_bytes = memory.kept_bytes, memory.peak_bytes
        return evaluation, claim.size_bytes, taken_bytes, left_bytes


POD = b'{"metric":{"namespace":"ns-1","pod":"web-7d9f8b6c5-abcde"},"value":[1700000000.123,"1.25"]}'
SHORT = b'{"metric":{},"value":[1,"1"]}'


def labelled(rows: int, labels: int, value: bytes) -> bytes:
    """Rows with so many labels, of the same names."""
    metric = b",".join(b'"label_%d":"%s"' % (number, value) for number in range(labels))
    return VECTOR % rows_of(b'{"metric":{%s},"value":[1700000000.123,"1.25"]}' % metric, rows)


MANY_LABELS = [
    pytest.param(labelled(3_000, 8, b"x"), id="with 8 labels"),
    pytest.param(labelled(1_000, 20, b"some text"), id="with 20 labels"),
    pytest.param(labelled(60, 2_000, b""), id="with 2,000 labels without text"),
    pytest.param(labelled(30, 2_000, b"x"), id="with 2,000 labels"),
]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(VECTOR % rows_of(POD, 8_000), id="as Prometheus"),
        pytest.param(SPACED % rows_of(POD.replace(b":", b": "), 8_000), id="with spaces"),
        pytest.param(SORTED % rows_of(POD, 6_000), id="the type after the rows"),
        pytest.param(VECTOR % rows_of(SHORT, 15_000), id="without labels"),
        pytest.param(SORTED % rows_of(SHORT, 15_000), id="short rows before their type"),
        pytest.param(
            VECTOR.replace(b"vector", b"matrix") % rows_of(b"[]", 150_000), id="a matrix of lists"
        ),
        *MANY_LABELS,
    ],
)
async def test_a_result_takes_no_more_than_was_claimed_for_it(body):
    _, claimed_bytes, taken_bytes, _ = await read(body)
    assert taken_bytes <= claimed_bytes + SLICES_BYTES


async def test_rows_with_white_space_between_them_are_divided():
    body = SPACED % rows_of(POD.replace(b":", b": "), 10_000)
    evaluation, claimed_bytes, _, _ = await read(body)
    assert len(evaluation.samples) == 10_000
    assert claimed_bytes < 7 * len(body)


async def test_a_large_result_that_can_only_be_decoded_as_a_whole_is_refused_and_says_why():
    with pytest.raises(
        NoAnswer, match=r"too large.*is not written as Prometheus writes.*Aggregate"
    ):
        await read(SORTED % rows_of(POD, 30_000))


async def test_a_small_result_that_can_only_be_decoded_as_a_whole_takes_nothing_from_others():
    evaluation, claimed_bytes, _, _ = await read(SORTED % rows_of(POD, 300))
    assert len(evaluation.samples) == 300
    assert claimed_bytes < reading_budget().free_bytes


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(VECTOR % rows_of(POD, 8_000), id="with two labels"),
        pytest.param(SORTED % rows_of(POD, 6_000), id="decoded as a whole"),
        *MANY_LABELS,
    ],
)
async def test_an_evaluation_says_what_it_takes(body):
    evaluation, _, _, left_bytes = await read(body)
    assert left_bytes <= evaluation.size_bytes <= 2.5 * left_bytes

"""What the results of Prometheus that are being read and decoded may take in memory together.

A result has any number of rows, and a row takes seven times its JSON.
"""

from typing import Final

from adapter.caches import EVALUATIONS_BYTES, MIB
from wire.process.response_budget import ResponseBudget

READING_BYTES: Final = 16 * MIB
RESULT_BYTES_MAX: Final = EVALUATIONS_BYTES
"""A single result. A larger one could not be kept for the next request, which would read all of it again."""
FREE_BYTES: Final = MIB
SERIES_BYTES_MAX: Final = 32 * MIB
"""What the distinct series of one list may take, without the values of their labels: 100,000 names."""
ROW_BYTES: Final = 280
LABEL_BYTES: Final = 120
"""A decoded row, and each of its labels, beside the texts in them, which are about as long as their JSON. Names that differ from row to row
take that much, others less."""
UNDIVIDED_RATIO: Final = 32
"""How many times its JSON a response takes that can only be decoded as a whole. Measured: 13 times for the rows of a vector, 30 for the worst JSON."""


def reading_budget(
    bytes_max: int = READING_BYTES,
    *,
    result_bytes_max: int = RESULT_BYTES_MAX,
    free_bytes: int = FREE_BYTES,
) -> ResponseBudget:
    """That of one process, for all backends together."""
    return ResponseBudget(bytes_max, response_bytes_max=result_bytes_max, free_bytes=free_bytes)

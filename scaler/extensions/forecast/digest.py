"""A forecast as text of about 10 KB, to continue from after a restart.

The levels of eight days by five minutes (mean and peak, as logarithms in one byte each), the model, and the outcomes of a day. Without
a model, as programs of before wrote it, it expects what most days had until it has learned more.
"""

import base64
import math
import zlib
from array import array
from collections.abc import Mapping

import msgspec

from scaler.extensions.forecast.choice import Shares
from scaler.extensions.forecast.features import LIMIT
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, MISSING, Levels
from scaler.extensions.forecast.outcomes import INTERVAL_MINUTES, INTERVALS_MAX, of_intervals
from scaler.extensions.forecast.quantiles import STEADY_START, WEIGHTS, Model
from scaler.extensions.forecast.state import (
    Forecast,
    Recorded,
    Sums,
    Verdict,
)

VERSION = 2
# Programs of before read these fields, and not those at the end: after a rollback, they expect what followed yesterday.
_ALPHA = 0.5
_FORMER_FEATURES = 10
_FORMER_WEIGHTS = (0.0, 1.0, *[0.0] * (_FORMER_FEATURES - 2))
_FORMER_MOMENTS = {
    "products": (0.0, 0.0, 100.0, *[0.0] * (_FORMER_FEATURES * (_FORMER_FEATURES + 1) // 2 - 3)),
    "responses": tuple(100.0 * each for each in _FORMER_WEIGHTS),
}
# How far STEADY_START is followed in place of a former model.
_SHARE_WITHOUT_MODEL = 0.99
SLOT_MINUTES = 5
# One that ends later would not learn for too long.
AHEAD_MINUTES_MAX = 60
# Of eight days are 8 KB. The CRD allows 24 KB of compressed text, which may stand for a thousand times as much.
BYTES_MAX = 16_384
SLOTS_MAX = 8 * MINUTES_PER_DAY // SLOT_MINUTES + 1
# Twice what the CRD allows.
LEAD_MINUTES_MAX = 60
# None is ever close to it.
_WEIGHT_MAX = 1_000.0
_UNKNOWN = 255
_HIGHEST = 254


class _Digest(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    version: int
    identity: str
    lead_minutes: int
    end_minute: int
    offset: float
    lowest: float
    scale: float
    means: bytes
    peaks: bytes
    moments: Mapping[str, tuple[float, ...]]
    weights: tuple[float, ...]
    alpha: float
    intervals: bytes
    verdict: Verdict
    alone_by_minute: tuple[int, ...]
    recorded: Recorded | None = None
    shares: msgspec.Raw | None = None
    model: tuple[bytes, bytes] | None = None
    share: float = _SHARE_WITHOUT_MODEL
    margin: float = 0.0
    share_of_days: float = 0.0


def digest_of(state: Forecast) -> str:
    """The text; ASCII."""
    means, peaks = _slots(state.levels, state.offset)
    known = [each for each in means if each is not None]
    highest = max([each for each in peaks if each is not None], default=0.0)
    lowest = min(known, default=0.0)
    scale = max((highest - lowest) / _HIGHEST, 1e-9)
    digest = _Digest(
        version=VERSION,
        identity=state.identity,
        lead_minutes=state.lead_minutes,
        end_minute=state.levels.end_minute,
        offset=state.offset,
        lowest=lowest,
        scale=scale,
        means=_bytes(means, lowest, scale),
        peaks=_bytes(peaks, lowest, scale),
        moments=_FORMER_MOMENTS,
        weights=_FORMER_WEIGHTS,
        alpha=_ALPHA,
        intervals=array(
            "f", [n for each in state.outcomes.intervals for n in _numbers(each)]
        ).tobytes(),
        verdict=state.verdict,
        alone_by_minute=state.alone_by_minute,
        recorded=state.recorded,
        model=(state.model.weights.tobytes(), state.model.squares.tobytes()),
        share=state.shares.model,
        margin=state.margin,
        share_of_days=state.shares.days,
    )
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(digest))).decode()


def restored(text: str, minute: int) -> Forecast | None:
    """The state to continue from at this minute. None for a text of another version, or one that no forecast has.

    One of the future, from a machine with a clock that was ahead, goes on once its end is reached; None if it is far ahead.
    """
    try:
        found = msgspec.msgpack.decode(_decompressed(text), type=_Digest)
        if not _is_possible(found) or found.end_minute - minute > AHEAD_MINUTES_MAX:
            return None
        return _continued(found)
    except (ValueError, OverflowError, zlib.error, msgspec.DecodeError):
        return None


def _continued(found: _Digest) -> Forecast:
    values = array("f")
    for mean, peak in zip(found.means, found.peaks, strict=True):
        values.extend(_minutes(found, mean, peak))
    intervals = _intervals(found.intervals)
    return Forecast(
        identity=found.identity,
        lead_minutes=found.lead_minutes,
        levels=Levels(values=values, end_minute=found.end_minute),
        offset=found.offset,
        highest=max(values, default=0.0),
        summary_minute=found.end_minute,
        model=STEADY_START if found.model is None else _model(*found.model),
        shares=Shares(model=found.share, days=found.share_of_days),
        margin=found.margin,
        outcomes=of_intervals(intervals),
        verdict=found.verdict,
        alone_by_minute=found.alone_by_minute,
        digest_minute=found.end_minute,
        recorded=found.recorded,
    )


def _decompressed(text: str) -> bytes:
    """Raises `ValueError` if it is cut off, or larger than a digest can be."""
    decompressor = zlib.decompressobj()
    found = decompressor.decompress(base64.b64decode(text), BYTES_MAX)
    if not decompressor.eof:
        raise ValueError(f"it does not end within {BYTES_MAX} bytes")
    return found


def _is_possible(digest: _Digest) -> bool:
    """Whether this version may have made it: a user with write access to the status can store another one."""
    return (
        digest.version == VERSION
        and 0.0 < digest.share < 1.0 - digest.share_of_days
        and digest.share_of_days >= 0.0
        and -LIMIT <= digest.margin <= LIMIT
        and 0.0 < digest.offset < math.inf
        and len(digest.means) == len(digest.peaks) <= SLOTS_MAX
        and 0 < digest.lead_minutes <= LEAD_MINUTES_MAX
    )


def _model(packed_weights: bytes, packed_squares: bytes) -> Model:
    """Raises `ValueError` for numbers that no model has, with which each decision would fail."""
    weights, squares = array("f"), array("f")
    weights.frombytes(packed_weights)
    squares.frombytes(packed_squares)
    if len(weights) != WEIGHTS or len(squares) != WEIGHTS:
        raise ValueError("it is a model of other features")
    if not all(abs(each) <= _WEIGHT_MAX for each in weights) or not all(
        0.0 < each < math.inf for each in squares
    ):
        raise ValueError("these are not the numbers of a model")
    return Model(weights=weights, squares=squares)


def _slots(levels: Levels, offset: float) -> tuple[list[float | None], list[float | None]]:
    """The logarithm of the mean and of the peak of every five minutes, the last of which end now."""
    values = levels.values[-SLOTS_MAX * SLOT_MINUTES :]
    means: list[float | None] = []
    peaks: list[float | None] = []
    for first in range(len(values) % SLOT_MINUTES, len(values), SLOT_MINUTES):
        known = [each for each in values[first : first + SLOT_MINUTES] if each >= 0.0]
        means.append(math.log(math.fsum(known) / len(known) + offset) if known else None)
        peaks.append(math.log(max(known) + offset) if known else None)
    return means, peaks


def _bytes(logarithms: list[float | None], lowest: float, scale: float) -> bytes:
    return bytes(
        [_UNKNOWN if each is None else round((each - lowest) / scale) for each in logarithms]
    )


def _minutes(digest: _Digest, mean: int, peak: int) -> list[float]:
    """Five minutes with this mean, as far as possible, and this peak in the middle."""
    if mean == _UNKNOWN:
        return [MISSING] * SLOT_MINUTES
    middle, highest = (
        max(0.0, math.exp(digest.lowest + each * digest.scale) - digest.offset)
        for each in (mean, peak)
    )
    other = max(0.0, (SLOT_MINUTES * middle - highest) / (SLOT_MINUTES - 1))
    return [other, other, highest, other, other]


def _numbers(sums: Sums) -> tuple[float, ...]:
    return (sums.alone, sums.added, sums.useful, sums.minutes)


def _intervals(packed: bytes) -> tuple[Sums, ...]:
    """Raises `ValueError` for some that `with_minutes` does not leave: it would take long with them, or keep them forever."""
    numbers = array("f")
    numbers.frombytes(packed)
    found = tuple(
        Sums(
            alone=alone,
            added=added,
            useful=useful,
            minutes=int(minutes),
        )
        for alone, added, useful, minutes in zip(*[iter(numbers)] * 4, strict=True)
    )
    if len(found) > INTERVALS_MAX or any(each.minutes < INTERVAL_MINUTES for each in found):
        raise ValueError("they are not the intervals of a day")
    return found

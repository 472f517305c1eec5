"""A forecast as text of about 10 KB, to continue from after a restart.

The levels of eight days by five minutes (mean and peak, as logarithms in one byte each), the weights, the shares of the
options, and the outcomes of a day. Without shares, as programs of before wrote it, it continues with the learned expert.
"""

import base64
import math
import zlib
from array import array

import msgspec

from scaler.extensions.forecast.combination import AS_LEARNED, START, Shares
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, MISSING, Levels
from scaler.extensions.forecast.outcomes import INTERVAL_MINUTES, INTERVALS_MAX, summed
from scaler.extensions.forecast.state import (
    FEATURES,
    Forecast,
    Moments,
    Outcomes,
    Recorded,
    Sums,
    Verdict,
)

VERSION = 2
# Programs of before read this field, and not those at the end.
_ALPHA = 0.5
SLOT_MINUTES = 5
# One that ends later would not learn for too long.
AHEAD_MINUTES_MAX = 60
# Of eight days are 8 KB. The CRD allows 24 KB of compressed text, which may stand for a thousand times as much.
BYTES_MAX = 16_384
SLOTS_MAX = 8 * MINUTES_PER_DAY // SLOT_MINUTES + 1
# Twice what the CRD allows.
LEAD_MINUTES_MAX = 60
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
    moments: Moments
    weights: tuple[float, ...]
    alpha: float
    intervals: bytes
    verdict: Verdict
    alone_by_minute: tuple[int, ...]
    recorded: Recorded | None = None
    shares: tuple[Shares, ...] | None = None


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
        moments=state.moments,
        weights=state.weights,
        alpha=_ALPHA,
        intervals=array(
            "f", [n for each in state.outcomes.intervals for n in _numbers(each)]
        ).tobytes(),
        verdict=state.verdict,
        alone_by_minute=state.alone_by_minute,
        recorded=state.recorded,
        shares=state.shares,
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
        moments=found.moments,
        weights=found.weights,
        solved_at_minute=found.end_minute,
        outcomes=Outcomes(intervals=intervals, day=summed(intervals)),
        verdict=found.verdict,
        alone_by_minute=found.alone_by_minute,
        digest_minute=found.end_minute,
        recorded=found.recorded,
        shares=AS_LEARNED if found.shares is None else found.shares,
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
    features = len(digest.weights), len(digest.moments.responses), len(digest.moments.products)
    return (
        digest.version == VERSION
        and _are_shares(digest.shares)
        and len(digest.means) == len(digest.peaks) <= SLOTS_MAX
        and 0 < digest.lead_minutes <= LEAD_MINUTES_MAX
        and features == (FEATURES, FEATURES, FEATURES * (FEATURES + 1) // 2)
    )


def _are_shares(shares: tuple[Shares, ...] | None) -> bool:
    """Whether there is one for each option, or none at all."""
    if shares is None:
        return True
    if [len(each) for each in shares] != [len(each) for each in START]:
        return False
    return all(min(each) >= 0.0 and 0.5 < math.fsum(each) < 2.0 for each in shares)


def _slots(levels: Levels, offset: float) -> tuple[list[float | None], list[float | None]]:
    """The logarithm of the mean and of the peak of every five minutes, the last of which end now."""
    values = levels.values
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

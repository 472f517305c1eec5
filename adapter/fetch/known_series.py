"""What is known of the series of one selector, from listing to listing.

Prometheus may have lost its samples, or have none yet: what a listing lacks is dropped only when its repetitions lack it too. Stores behind
Thanos or VictoriaMetrics may be missing for a while: what an incomplete listing lacks is kept for an hour.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from adapter.model import Series
from adapter.ports import QueryFailed, SeriesIncomplete

CONFIRMED_AFTER_SECONDS = (30.0, 60.0)
"""When a listing in doubt is repeated: after a failure, and if known series are missing, or all. A target is usually scraped every minute
at least, so then its series are there. What the repetitions lack too is dropped.
"""

STORES_MISSING_SECONDS = 3600.0
"""How long missing stores are expected to return: until then, incomplete listings drop nothing, and a metric that is not known may be theirs.
Without this limit, a warning that stays (no store of Thanos has the selector's external labels) keeps every metric that has ever existed.
"""

SLICE = 1_000
"""Series that are compared at a time: about a millisecond."""


class Lack(msgspec.Struct, frozen=True):
    """How long listings have lacked a known series."""

    since_seconds: float
    listings: int = 0
    """How many listings have lacked it, one after the other."""


class Listing(msgspec.Struct):
    """What is known of a selection. Times are by the monotonic clock, except for `listed_at_unix_seconds`, which is shown."""

    series: Sequence[Series] | None = None
    """None: not listed yet."""
    listed_at_unix_seconds: float = 0.0
    """When it was last listed with the series of all stores; 0: never."""
    incomplete_since_seconds: float | None = None
    """The first incomplete listing since then; None if there was none."""
    failure: QueryFailed | None = None
    """Why the last attempt failed; None when it succeeded or there was none."""
    attempts: int = 0
    doubts: int = 0
    """How many listings have been in doubt, one after the other; 0: the newest one is not."""
    lacked: Mapping[Series, Lack] = {}
    """The known series that the newest listings lacked."""

    @property
    def is_incomplete(self) -> bool:
        """Whether only some of the stores have responded to the last attempt."""
        return isinstance(self.failure, SeriesIncomplete)

    def may_lack_series(self, now_seconds: float) -> bool:
        """Whether a metric that is not known may be one that was never listed, because a listing or a store is missing."""
        if self.listed_at_unix_seconds > 0.0:
            return False
        since_seconds = self.incomplete_since_seconds
        return since_seconds is None or now_seconds - since_seconds < STORES_MISSING_SECONDS

    async def succeeded(
        self, found: Sequence[Series], now_seconds: float, *, now_unix_seconds: float
    ) -> None:
        """Keep known series until the listing and its repetitions have all lacked them."""
        lacked = {
            series: lack
            for series, lack in (await self._lacked(found, now_seconds)).items()
            if lack.listings <= len(CONFIRMED_AFTER_SECONDS)
        }
        is_first_and_empty = self.series is None and not found
        if 0 < self.doubts < len(CONFIRMED_AFTER_SECONDS):
            self.doubts += 1
        else:
            begins = bool(lacked) or (
                self.doubts == 0 and (is_first_and_empty or self.failure is not None)
            )
            self.doubts = int(begins)
        self.lacked = lacked
        self.series = [*lacked, *found] if lacked else found
        self.failure = None
        self.listed_at_unix_seconds = now_unix_seconds
        self.incomplete_since_seconds = None

    async def was_incomplete(self, failure: SeriesIncomplete, now_seconds: float) -> None:
        """Keep known series as long as missing stores are expected to return."""
        lacked = {
            series: lack
            for series, lack in (await self._lacked(failure.series, now_seconds)).items()
            if now_seconds - lack.since_seconds < STORES_MISSING_SECONDS
        }
        self.series = [*lacked, *failure.series]
        self.lacked = lacked
        if self.incomplete_since_seconds is None:
            self.incomplete_since_seconds = now_seconds
        self.failed(failure)

    def continued(self) -> "Listing":
        """A copy for a new configuration, whose first listing follows at once: too soon for a repetition."""
        return msgspec.structs.replace(
            self, doubts=min(self.doubts, 1), lacked=_counted_from_zero(self.lacked)
        )

    def failed(self, failure: QueryFailed) -> None:
        """Keep all known series; a listing that lacked some of them is in doubt from the beginning."""
        self.failure = failure
        self.doubts = 0
        self.lacked = _counted_from_zero(self.lacked)

    async def _lacked(self, found: Sequence[Series], now_seconds: float) -> Mapping[Series, Lack]:
        """The known series that were not found. The caller puts them before those that were: of two with one metric name the later one
        counts.
        """
        of_found: set[Series] = set()
        for begin in range(0, len(found), SLICE):
            of_found.update(found[begin : begin + SLICE])
            await asyncio.sleep(0)
        lacked: dict[Series, Lack] = {}
        known = self.series or ()
        for begin in range(0, len(known), SLICE):
            for series in known[begin : begin + SLICE]:
                if series not in of_found:
                    before = self.lacked.get(series, Lack(now_seconds))
                    lacked[series] = Lack(before.since_seconds, before.listings + 1)
            await asyncio.sleep(0)
        return lacked


def _counted_from_zero(lacked: Mapping[Series, Lack]) -> Mapping[Series, Lack]:
    return {series: Lack(lack.since_seconds) for series, lack in lacked.items()}


async def differ(before: Sequence[Series], after: Sequence[Series]) -> bool:
    """Whether they are different series, in any order. In slices: each of twenty thousand has a set of labels."""
    if len(before) != len(after):
        return True
    known: set[Series] = set()
    for begin in range(0, len(before), SLICE):
        known.update(before[begin : begin + SLICE])
        await asyncio.sleep(0)
    for begin in range(0, len(after), SLICE):
        if not known.issuperset(after[begin : begin + SLICE]):
            return True
        await asyncio.sleep(0)
    return False

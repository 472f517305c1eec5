"""Which metrics can be asked for now: every rule's series are listed by themselves, again and again.

prometheus-adapter lists all rules together: one broken rule, or one slow answer, and no metric appears or disappears
any more; and when Prometheus is down at the start it waits a whole interval. Here each distinct selector has a loop
of its own, which goes on with what it knew when a listing fails, and tries again soon.
"""

import asyncio
import copy
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from adapter import telemetry
from adapter.model import (
    DiscoveryRule,
    Gap,
    ListedRule,
    MetricEntry,
    Offer,
    ResourceMapping,
    Rule,
    Series,
)
from adapter.ports import Prometheus, QueryFailed
from adapter.translate.offers import Offers, SeriesKey, offers
from wire.backoff import Backoff, BackoffLimits

RETRIES = BackoffLimits(initial_seconds=1.0, max_seconds=30.0, jitter_ratio=0.0)

log = logging.getLogger(__name__)


class Selection(msgspec.Struct, frozen=True):
    """What is listed by one request: the series of one selector on one backend. Rules may share it."""

    backend: str
    series_query: str


class Listing(msgspec.Struct):
    """What is known of a selection."""

    series: Sequence[Series] | None = None
    """None: never listed so far."""
    listed_at_seconds: float = 0.0
    failure: QueryFailed | None = None
    """Why the newest attempt failed; None when it succeeded or there was none."""
    attempts: int = 0


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    """The offers, and in the order in which they are listed."""

    offers: Offers
    entries: Sequence[MetricEntry]
    names: Sequence[str]


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """How often series are listed, and how old a series may be to be listed still."""

    relist_seconds: float = 600.0
    max_age_seconds: float = 600.0


class DiscoveredCatalog:
    """The `Catalog` of one configuration. `run` keeps it; lookups are answered from memory."""

    def __init__(
        self,
        rules: Sequence[Rule],
        prometheus: Prometheus,
        mapping: ResourceMapping,
        times: Times,
        *,
        known: Mapping[Selection, Listing] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`known`: the listings of a former configuration, so that a reload forgets nothing it need not."""
        self._rules = rules
        self._prometheus = prometheus
        self._mapping = mapping
        self._times = times
        self._sleep = sleep
        self._now = now
        self._paths: dict[Selection, list[str]] = {}
        for rule in rules:
            if isinstance(rule, DiscoveryRule):
                selection = Selection(rule.backend, rule.series_query)
                self._paths.setdefault(selection, []).append(rule.path)
        former = known or {}
        self.listings = {
            each: copy.copy(former[each]) if each in former else Listing() for each in self._paths
        }
        self._tried = asyncio.Event()
        self._told: set[tuple[str, str]] = set()
        self._making = asyncio.Lock()
        self._take(self._made(self._known()))

    async def run(self) -> None:
        """List every selection for ever; ends only by cancellation."""
        async with asyncio.TaskGroup() as group:
            for selection in self.listings:
                group.create_task(self._follow(selection))

    async def tried(self) -> None:
        """Wait until every selection was listed, or tried in vain, once."""
        if not all(each.attempts for each in self.listings.values()):
            await self._tried.wait()

    async def rebuild(self) -> None:
        """Make the offers anew: series have come or gone, or the cluster has got other resources.

        In a thread, since twenty thousand series take half a second, and one after the other, so that the newest wins.
        """
        async with self._making:
            self._take(await asyncio.to_thread(self._made, self._known()))

    def _known(self) -> Mapping[SeriesKey, Sequence[Series]]:
        return {
            (selection.backend, selection.series_query): listing.series
            for selection, listing in self.listings.items()
            if listing.series is not None
        }

    def _made(self, known: Mapping[SeriesKey, Sequence[Series]]) -> _Made:
        made = offers(self._rules, known, self._mapping)
        return _Made(offers=made, entries=sorted(made.custom), names=sorted(made.external))

    def _take(self, made: _Made) -> None:
        self._offers, self._entries, self._names = made.offers, made.entries, made.names
        self._tell_problems()

    def custom_entries(self) -> Sequence[MetricEntry]:
        """What custom.metrics.k8s.io lists."""
        return self._entries

    def external_metrics(self) -> Sequence[str]:
        """What external.metrics.k8s.io lists."""
        return self._names

    def custom(self, entry: MetricEntry) -> Offer | None:
        """Who serves a custom metric."""
        return self._offers.custom.get(entry)

    def external(self, metric: str) -> Offer | None:
        """Who serves an external metric."""
        return self._offers.external.get(metric)

    def gaps(self) -> Sequence[Gap]:
        """The rules whose series were never listed so far."""
        gaps = [
            Gap(rule=path, cause=_cause(listing), temporary=_temporary(listing))
            for selection, listing in self.listings.items()
            if listing.series is None
            for path in self._paths[selection]
        ]
        return sorted(gaps, key=lambda gap: gap.rule)

    def listed(self) -> Sequence[ListedRule]:
        """Every rule with the series it was made of."""
        return [
            ListedRule(rule, self.listings[Selection(rule.backend, rule.series_query)].series)
            if isinstance(rule, DiscoveryRule)
            else ListedRule(rule)
            for rule in self._rules
        ]

    @property
    def problem(self) -> str:
        """Why nothing can be told yet; empty when at least one selection is known, or there is none."""
        if not self.listings or any(each.series is not None for each in self.listings.values()):
            return ""
        return "; ".join(f"{gap.rule}: {gap.cause}" for gap in self.gaps())

    @property
    def failures(self) -> str:
        """Which rules' series could not be listed the last time, and why; empty when all could."""
        return "; ".join(
            f"{', '.join(self._paths[selection])}: {listing.failure.cause}"
            for selection, listing in self.listings.items()
            if listing.failure
        )

    async def _follow(self, selection: Selection) -> None:
        backoff = Backoff(RETRIES)
        while True:
            await self._list(selection)
            if self.listings[selection].failure is None:
                backoff.reset()
                await self._sleep(self._times.relist_seconds)
            else:
                await self._sleep(min(backoff.next_seconds(), self._times.relist_seconds))

    async def _list(self, selection: Selection) -> None:
        listing = self.listings[selection]
        before, failed_before = listing.series, listing.failure
        try:
            listing.series = await self._prometheus.series(
                match=selection.series_query,
                backend=selection.backend,
                max_age_seconds=self._times.max_age_seconds,
            )
            listing.failure = None
            listing.listed_at_seconds = self._now()
        except QueryFailed as error:
            listing.failure = error
        self._count(selection, listing)
        _tell(self._paths[selection], listing, failed_before)
        if not listing.failure and set(before or ()) != set(listing.series or ()):
            await self.rebuild()
        listing.attempts += 1
        if all(each.attempts for each in self.listings.values()):
            self._tried.set()

    def _count(self, selection: Selection, listing: Listing) -> None:
        for path in self._paths[selection]:
            if listing.failure:
                telemetry.DISCOVERY_FAILURES.labels(path).inc()
            else:
                telemetry.DISCOVERED_AT.labels(path).set(listing.listed_at_seconds)
                telemetry.DISCOVERED_SERIES.labels(path).set(len(listing.series or ()))

    def publish(self) -> None:
        """Tell of these rules alone: they are the ones in force now."""
        telemetry.forget_rules()
        for selection, listing in self.listings.items():
            if listing.series is not None:
                self._count(selection, listing)

    def _tell_problems(self) -> None:
        """Log what is wrong with an offer, when it is new."""
        found = {(path, each) for path, all_of in self._offers.problems.items() for each in all_of}
        for path, problem in sorted(found - self._told):
            log.warning("%s: %s", path, problem)
        self._told = found


def _tell(paths: Sequence[str], listing: Listing, failed_before: QueryFailed | None) -> None:
    """Say what changed, and nothing when all is as before."""
    rules = ", ".join(paths)
    if listing.failure and (failed_before is None or failed_before.cause != listing.failure.cause):
        log.warning("%s: series cannot be listed: %s", rules, listing.failure)
    elif failed_before and not listing.failure:
        log.info("%s: series can be listed again", rules)


def _cause(listing: Listing) -> str:
    return listing.failure.cause if listing.failure else "they are being listed for the first time"


def _temporary(listing: Listing) -> bool:
    return listing.failure is None or listing.failure.retryable

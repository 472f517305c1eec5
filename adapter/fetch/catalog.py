"""Which metrics can be requested now: the series of every rule are listed separately, on a period.

prometheus-adapter lists the series of all rules together: with one broken rule, or one slow response, no metric
appears or disappears any more; and when Prometheus is down at the start it waits a whole interval. Here each distinct
selector has a loop of its own, which keeps what it knew when a listing fails or is not complete, and retries soon. Prometheus may
have lost its samples, or have none yet: then a listing is repeated before what was known is dropped.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from adapter import telemetry
from adapter.fetch.known_series import CONFIRMED_AFTER_SECONDS, Listing, differ
from adapter.model import (
    BackendRef,
    DiscoveryRule,
    Gap,
    GroupResource,
    ListedRule,
    MetricEntry,
    Offer,
    ResourceMapping,
    Rule,
    Series,
)
from adapter.ports import Prometheus, QueryFailed, SeriesIncomplete
from adapter.promql.series_offers import Collisions, Offers, SeriesKey, offers
from adapter.promql.sorting import sorted_in_slices
from wire.api.wording import SHOWN_MAX, some
from wire.process.backoff import Backoff, BackoffLimits

RETRIES = BackoffLimits(initial_seconds=1.0, max_seconds=30.0, jitter_ratio=0.0)

BUILD_PAUSE_RATIO = 4.0
BUILD_PAUSE_MAX_SECONDS = 5.0
"""The pause after a build of the offers: four times as long as the build, so that builds use a fifth of a core at most."""

log = logging.getLogger(__name__)


class Selection(msgspec.Struct, frozen=True):
    """What one request lists: the series of one selector on one backend. Rules may share it."""

    backend: BackendRef
    series_query: str


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    """The offers, and the lists of discovery made from them."""

    offers: Offers = Offers({}, {}, {})
    entries: Sequence[MetricEntry] = ()
    scopes: Sequence[tuple[GroupResource, bool]] = ()
    """The resources of the entries, and whether these are namespaced."""
    names: Sequence[str] = ()
    collisions: Sequence[tuple[str, str]] = ()
    """What the log says of a rule (its path) whose metrics may now be made of another series."""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """How often series are listed, and how old the last sample of a listed series may be."""

    relist_seconds: float = 600.0
    max_age_seconds: float = 600.0


class DiscoveredCatalog:
    """The `Catalog` of one configuration. `run` keeps it up to date; lookups read memory only."""

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
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`known`: the listings of the previous configuration, so that a reload keeps what is still true."""
        self._rules = rules
        self._prometheus = prometheus
        self._mapping = mapping
        self._times = times
        self._sleep = sleep
        self._now = now
        self._monotonic = monotonic
        self._paths: dict[Selection, list[str]] = {}
        for rule in rules:
            if isinstance(rule, DiscoveryRule):
                selection = Selection(rule.backend, rule.series_query)
                self._paths.setdefault(selection, []).append(rule.path)
        previous = known or {}
        self.listings = {
            each: previous[each].continued() if each in previous else Listing()
            for each in self._paths
        }
        self._tried = asyncio.Event()
        self._logged: set[tuple[str, str]] = set()
        self._table = _Table()
        self._building = asyncio.Lock()
        self._changes = self._built_changes = 0
        self._build_after_seconds = 0.0
        self._use(self._build(self._known()))

    async def run(self) -> None:
        """List every selection on a period, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for selection in self.listings:
                group.create_task(self._follow(selection))

    @property
    def was_tried(self) -> bool:
        """Whether every selection was listed once, or failed once."""
        return all(each.attempts for each in self.listings.values())

    async def tried(self) -> None:
        """Wait until it `was_tried`."""
        if not self.was_tried:
            await self._tried.wait()

    async def rebuild(self) -> None:
        """Build the offers again: series have appeared or disappeared, or the cluster's resources have changed.

        In a thread, since twenty thousand series take half a second, and one at a time, so that the newest wins. Calls
        that wait for a build share the next one, and after a build there is a pause, so that many rules whose listings
        end one after the other do not keep a core busy.
        """
        self._changes += 1
        change = self._changes
        async with self._building:
            if self._built_changes >= change:
                return
            await asyncio.sleep(max(0.0, self._build_after_seconds - time.monotonic()))
            self._built_changes = self._changes
            started_seconds = time.monotonic()
            self._use(await asyncio.to_thread(self._build, self._known()))
            ended_seconds = time.monotonic()
            pause_seconds = (ended_seconds - started_seconds) * BUILD_PAUSE_RATIO
            self._build_after_seconds = ended_seconds + min(pause_seconds, BUILD_PAUSE_MAX_SECONDS)

    def _known(self) -> Mapping[SeriesKey, Sequence[Series]]:
        return {
            (selection.backend, selection.series_query): listing.series
            for selection, listing in self.listings.items()
            if listing.series is not None
        }

    def _build(self, known: Mapping[SeriesKey, Sequence[Series]]) -> _Table:
        found = offers(self._rules, known, self._mapping)
        return _Table(
            offers=found,
            entries=sorted_in_slices(found.custom),
            scopes=sorted({(each.resource, each.namespaced) for each in found.custom}),
            names=sorted_in_slices(found.external),
            collisions=_new_collisions(found.collisions, self._table.offers.collisions),
        )

    def _use(self, table: _Table) -> None:
        self._table = table
        self._log_problems()

    def custom_entries(self) -> Sequence[MetricEntry]:
        """The metrics that custom.metrics.k8s.io lists."""
        return self._table.entries

    def entries_of(self, metric: str) -> Sequence[MetricEntry]:
        """The entries of one metric."""
        possible = (MetricEntry(*scope, metric) for scope in self._table.scopes)
        return [entry for entry in possible if entry in self._table.offers.custom]

    def external_metrics(self) -> Sequence[str]:
        """The metrics that external.metrics.k8s.io lists."""
        return self._table.names

    def custom(self, entry: MetricEntry) -> Offer | None:
        """The offer for a custom metric."""
        return self._table.offers.custom.get(entry)

    def external(self, metric: str) -> Offer | None:
        """The offer for an external metric."""
        return self._table.offers.external.get(metric)

    def gaps(self) -> Sequence[Gap]:
        """The rules whose series have not been listed yet, or not those of all stores."""
        now_seconds = self._monotonic()
        gaps = [
            Gap(
                rule=path,
                cause=_cause(listing),
                public_cause=listing.failure.public_cause if listing.failure else "",
                temporary=_temporary(listing),
            )
            for selection, listing in self.listings.items()
            if listing.may_lack_series(now_seconds)
            for path in self._paths[selection]
        ]
        return sorted(gaps, key=lambda gap: gap.rule)

    def listed(self) -> Sequence[ListedRule]:
        """Every rule with its series."""
        return [
            ListedRule(rule, self.listings[Selection(rule.backend, rule.series_query)].series)
            if isinstance(rule, DiscoveryRule)
            else ListedRule(rule)
            for rule in self._rules
        ]

    @property
    def problem(self) -> str | None:
        """Why no metric is known yet; None when at least one selection is listed, or there is none."""
        if not self.listings or any(each.series is not None for each in self.listings.values()):
            return None
        return "; ".join(f"{gap.rule}: {gap.cause}" for gap in self.gaps())

    @property
    def failures(self) -> str:
        """The rules whose last listing failed, and why; empty when all succeeded."""
        return "; ".join(
            f"{', '.join(self._paths[selection])}: {listing.failure.cause}"
            for selection, listing in self.listings.items()
            if listing.failure
        )

    async def _follow(self, selection: Selection) -> None:
        relist_seconds = self._times.relist_seconds
        retries = Backoff(RETRIES)
        # Some stores may be missing for long, and the others send all they have each time.
        incomplete = Backoff(
            BackoffLimits(
                initial_seconds=CONFIRMED_AFTER_SECONDS[0],
                max_seconds=relist_seconds,
                jitter_ratio=0.0,
            )
        )
        listing = self.listings[selection]
        while True:
            await self._list(selection)
            pause_seconds = relist_seconds
            if listing.failure is not None:
                backoff = incomplete if listing.is_incomplete else retries
                pause_seconds = backoff.next_seconds()
            else:
                retries.reset()
                incomplete.reset()
                if listing.doubts:
                    pause_seconds = CONFIRMED_AFTER_SECONDS[listing.doubts - 1]
            await self._sleep(min(pause_seconds, relist_seconds))

    async def _list(self, selection: Selection) -> None:
        listing = self.listings[selection]
        before, previous_failure = listing.series, listing.failure
        try:
            found = await self._prometheus.series(
                match=selection.series_query,
                backend=selection.backend,
                max_age_seconds=self._times.max_age_seconds,
            )
            await listing.succeeded(found, self._monotonic(), now_unix_seconds=self._now())
        except SeriesIncomplete as error:
            await listing.was_incomplete(error, self._monotonic())
        except QueryFailed as error:
            listing.failed(error)
        except Exception as error:
            # A bug must not stop the listings of other rules.
            telemetry.CRASHES.inc()
            log.exception("%s: series cannot be listed", ", ".join(self._paths[selection]))
            listing.failed(
                QueryFailed(
                    backend=selection.backend.name,
                    query=selection.series_query,
                    cause=f"an internal error occurred: {error!r}",
                    retryable=True,
                )
            )
        self._count(selection, listing)
        _log_change(self._paths[selection], listing, previous_failure)
        if listing.series is not before and await differ(before or (), listing.series or ()):
            await self.rebuild()
        listing.attempts += 1
        if self.was_tried:
            self._tried.set()

    def _count(self, selection: Selection, listing: Listing) -> None:
        labels = (selection.backend.name, selection.series_query)
        if listing.failure:
            telemetry.DISCOVERY_FAILURES.labels(*labels).inc()
        else:
            telemetry.DISCOVERED_AT.labels(*labels).set(listing.listed_at_unix_seconds)
            telemetry.DISCOVERED_SERIES.labels(*labels).set(len(listing.series or ()))

    def publish(self) -> None:
        """Export the metrics of these rules only: they are the active ones."""
        telemetry.forget_rules()
        for selection, listing in self.listings.items():
            if listing.series is not None:
                self._count(selection, listing)

    def _log_problems(self) -> None:
        """Log what is wrong with an offer, once."""
        found = {
            (path, each) for path, all_of in self._table.offers.problems.items() for each in all_of
        }
        for path, problem in sorted(found - self._logged):
            log.warning("%s: %s", path, problem)
        self._logged = found
        for path, collision in self._table.collisions:
            log.warning("%s: %s", path, collision)


def _new_collisions(
    collisions: Mapping[str, Collisions], before: Mapping[str, Collisions]
) -> list[tuple[str, str]]:
    """By rule path, a sentence about the metrics that were not in `before`."""
    found = []
    for path, of_rule in collisions.items():
        known = before.get(path, {})
        appeared = sorted_in_slices(metric for metric in of_rule if metric not in known)
        if appeared:
            found.append((path, _about_collisions(of_rule, appeared)))
    return found


def _about_collisions(collisions: Collisions, metrics: Sequence[str]) -> str:
    shown = [
        f"{metric} ({served}, not {other})"
        for metric in metrics[:SHOWN_MAX]
        for served, other in [collisions[metric]]
    ]
    return (
        f"several series have the name of one metric, and each of these {len(metrics)} metrics is made of one of them: "
        f"{some([*shown, *metrics[len(shown) :]])}. Anyone whose pods are scraped can add such series: restrict `seriesQuery` with "
        "matchers, or give the metrics names of their own with `name.as`"
    )


def _log_change(
    paths: Sequence[str], listing: Listing, previous_failure: QueryFailed | None
) -> None:
    """Log a change, and nothing else."""
    rules = ", ".join(paths)
    if listing.failure and (
        previous_failure is None or previous_failure.cause != listing.failure.cause
    ):
        log.warning("%s: series cannot be listed: %s", rules, listing.failure)
    elif previous_failure and not listing.failure:
        log.info("%s: series can be listed again", rules)


def _cause(listing: Listing) -> str:
    return listing.failure.cause if listing.failure else "they are being listed for the first time"


def _temporary(listing: Listing) -> bool:
    return listing.failure is None or listing.failure.retryable

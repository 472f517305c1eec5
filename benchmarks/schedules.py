"""What the schedules of one autoscaler cost in an evaluation: those that people write, and the worst that the API server accepts.

In this process, without a cluster. Each evaluation is one of a reconcile, 15 s after the one before.
"""

import gc
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from benchmarks.instruments.figures import Result, Round, percentile
from benchmarks.measurement_options import Options, Report
from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.extension import Given
from scaler.algorithm.moment import Moment
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.schedules import CalendarEntry, CalendarSpec, FoundCalendar
from scaler.extensions.schedules.cron import parse_cron
from scaler.extensions.schedules.recurrence_rule import parse_rule
from scaler.extensions.schedules.stage import ScheduledBounds, Schedules
from scaler.extensions.schedules.windows import evaluated
from scaler.extensions.schedules.work import Work
from scaler.extensions.schedules.year_rule import chosen_of_year, days_of_year
from testbed import worst_schedules

PERIOD_SECONDS = 15.0
# Tuesday, 2026-11-24, 09:00 UTC.
NOW = 1_795_510_800.0
EVALUATIONS_MAX = 20_000
LOADLINE = "Loadline"
# Each round begins without what the ones before have computed.
CACHES = (days_of_year, chosen_of_year, parse_rule, parse_cron)


def run(options: Options, report: Report) -> Result:
    """Measure each case. Raises an error if the bounds are not those of an evaluation without a limit."""
    rounds = []
    for number in range(options.rounds):
        for case, (schedules, entries) in cases().items():
            for each in CACHES:
                each.cache_clear()
            figures = measured(schedules, entries)
            shown = ", ".join(f"{name} {value:,.2f}" for name, value in figures.items())
            report(f"{case}: {shown}")
            rounds.append(Round(case=case, program=LOADLINE, number=number, figures=figures))
    return Result(
        benchmark="schedules",
        setting={"period s": PERIOD_SECONDS},
        reference=LOADLINE,
        rounds=tuple(rounds),
    )


def cases() -> dict[str, tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]]:
    """Schedules, and the entries of each calendar that they refer to, by a name."""
    every = worst_schedules.schedules()
    office = [
        {**each, "schedule": f"{number} 8 * * 1-5", "durationSeconds": 36_000}
        for number, each in enumerate(every[:10])
    ]
    yearly = [
        {**each, "start": f"2024-{1 + number % 12:02}-{1 + number % 28:02}T00:00:00"}
        for number, each in enumerate(worst_schedules.entries({"rrule": "FREQ=YEARLY"}))
    ]
    usual = ([*office, every[-1]], [yearly])
    numbers = range(worst_schedules.CALENDARS)
    return {"10 schedules, 100 yearly events": usual} | {
        name: (every, [worst_schedules.entries(fields, each) for each in numbers])
        for name, fields in worst_schedules.ENTRY_FIELDS.items()
    }


def measured(
    schedules: list[dict[str, Any]], entries: list[list[dict[str, Any]]]
) -> Mapping[str, float]:
    """Evaluate until all is known, and for ten minutes more."""
    autoscaler = _autoscaler(schedules)
    calendars = _calendars(autoscaler, entries)
    until_known, later, now = list[float](), list[float](), NOW
    bounds: ScheduledBounds | None = None
    while bounds is None or len(later) < 40:
        # A pass over all objects of the process is not work of the evaluation during which it happens.
        gc.disable()
        begin = time.thread_time()
        bounds = _bounds(autoscaler, calendars, now, bounds)
        cpu_ms = (time.thread_time() - begin) * 1000
        gc.enable()
        if len(until_known) > EVALUATIONS_MAX:
            raise AssertionError(f"not evaluated: {bounds.unknown}")
        (later if later or bounds.unknown is None else until_known).append(cpu_ms)
        now += PERIOD_SECONDS
    _check(bounds, now - PERIOD_SECONDS)
    times = sorted([*until_known, *later])
    return {
        "evaluations_until_known": float(len(until_known) + 1),
        "median_cpu_ms_until_known": percentile(sorted(until_known or later[:1]), 50),
        "median_cpu_ms_later": percentile(sorted(later), 50),
        "p99_cpu_ms": percentile(times, 99),
        "slowest_cpu_ms": times[-1],
    }


def _autoscaler(schedules: list[dict[str, Any]]) -> Autoscaler:
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 6,
        "schedules": schedules,
    }
    return msgspec.convert({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, Autoscaler)  # fmt: skip


def _calendars(
    autoscaler: Autoscaler, entries: list[list[dict[str, Any]]]
) -> tuple[FoundCalendar, ...]:
    schedules = autoscaler.spec.schedules or ()
    references = [each.calendar_ref for each in schedules if each.calendar_ref is not None]
    return tuple(
        FoundCalendar(
            reference,
            CalendarSpec(
                time_zone=worst_schedules.TIME_ZONE,
                entries=msgspec.convert(each, tuple[CalendarEntry, ...]),
            ),
        )
        for reference, each in zip(references, entries, strict=True)
    )


def _bounds(
    autoscaler: Autoscaler,
    calendars: tuple[FoundCalendar, ...],
    now: float,
    known: ScheduledBounds | None,
) -> ScheduledBounds:
    settings, name = Settings(extensions=()), Schedules.name
    given = Given(
        autoscaler=autoscaler,
        spec=autoscaler.spec,
        settings=settings,
        inputs={name: calendars},
        moment=Moment(now),
        states={} if known is None else {name: known.searched},
    )
    found = Schedules().rules(given, policy_of(autoscaler.spec, settings))
    if found is None:
        raise AssertionError("there are no schedules")
    return found


def _check(bounds: ScheduledBounds, now: float) -> None:
    """Compare with an evaluation without earlier searches, whose work has no limit."""
    schedules = bounds.searched.read.schedules
    expected = evaluated(schedules, now, min_replicas=1, max_replicas=6, work=Work(10**9))
    found = evaluated(
        schedules,
        now,
        min_replicas=1,
        max_replicas=6,
        work=Work(10**9),
        known=bounds.searched.found,
    )
    if found.active != expected.active or found.next_change_unix_seconds != (
        expected.next_change_unix_seconds
    ):
        raise AssertionError("other schedules are active than without a limit of the work")

"""`python -m benchmarks.forecast_picture FILE`: the picture in docs/forecast.md.

A daily load is replayed through the scaler's decisions, with and without a forecast. On the sixth day it drops to a third
for a day, unlike any earlier one.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.forecast_policies import policies
from benchmarks.traces.replay import Setup, Step, replay
from benchmarks.traces.trace import STEP_SECONDS, Trace
from kubectl_loadline.colours import CURRENT, DEMAND, FORECAST, PROBLEM
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY

DAYS = 9
SHIFT_FROM, SHIFT_TO = 5 * MINUTES_PER_DAY + 600, 6 * MINUTES_PER_DAY + 600
PER_REPLICA = 20.0
START_UP_SECONDS, DELAY_SECONDS = 120, 60
MORNING_DAY = 8
HOURS = (0, 8, 8.07, 11.5, 12, 13, 13.5, 17, 20, 22, 22.03, 22.33, 22.36, 24)
LEVELS = (100, 110, 600, 620, 450, 450, 640, 600, 100, 100, 400, 400, 100, 100)
LEAD_SECONDS = START_UP_SECONDS + 2 * DELAY_SECONDS
# A Thursday, 00:00 UTC.
START = 20_000 * MINUTES_PER_DAY * STEP_SECONDS


def load(minute: int) -> float:
    """100 at night; 600 from 08:00, within four minutes; 450 at noon; back to 100 until 20:00; a batch at 22:00. With some noise."""
    hour = minute % MINUTES_PER_DAY / 60
    value = float(np.interp(hour, HOURS, LEVELS))
    value *= 1 + 0.02 * math.sin(minute * 12.9898) + 0.03 * math.sin(minute / 7)
    return value / 3 if SHIFT_FROM <= minute < SHIFT_TO else value


def main(file: Path) -> None:
    """Replay and draw."""
    loads = tuple(load(minute) for minute in range(DAYS * MINUTES_PER_DAY))
    trace = Trace(name="daily", start_unix_seconds=START, loads=loads)
    setup = Setup(start_up_seconds=START_UP_SECONDS, delay_seconds=DELAY_SECONDS, replicas=6)
    found = {each.name: each for each in policies(LEAD_SECONDS)}
    plain, forecast = (
        list(replay(policy.autoscaler(PER_REPLICA), policy.settings, trace, setup))
        for policy in (found["HPA"], found["Loadline forecast"])
    )
    figure, (of_replicas, of_added, of_morning) = plt.subplots(
        3, 1, figsize=(11, 8), height_ratios=(3, 1, 2), layout="constrained"
    )
    of_added.sharex(of_replicas)
    days = [(each.unix_seconds - START) / 86400 for each in plain]
    demand = [each / PER_REPLICA for each in loads]
    hours = [(each - MORNING_DAY) * 24 for each in days]
    for axes, times in ((of_replicas, days), (of_morning, hours)):
        label = "demand" if axes is of_replicas else ""
        axes.fill_between(times, demand, color=DEMAND.light, alpha=0.28, lw=0, label=label)
        for colour, name, steps in (
            (CURRENT, "ready without a forecast", plain),
            (FORECAST, "ready with a forecast", forecast),
        ):
            label = name if axes is of_replicas else ""
            axes.plot(times, _ready(steps), color=colour.light, linewidth=1.1, label=label)
        axes.set_ylabel("replicas")
        axes.set_ylim(bottom=0)
    of_morning.set_xlim(7.8, 8.3)
    of_morning.set_xlabel(f"hours of day {MORNING_DAY}")
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    of_added.fill_between(days, _added(forecast), color=FORECAST.light, step="post", lw=0.8)
    of_added.set_ylim(bottom=0)
    of_added.set_ylabel("added by\nthe forecast")
    of_replicas.set_xlim(0, DAYS)
    for axes in (of_replicas, of_added, of_morning):
        axes.spines[["top", "right"]].set_visible(False)
    of_added.set_xlabel("days")
    _mark(forecast, days, of_replicas, of_added)
    figure.savefig(file, dpi=90)


def _ready(steps: list[Step]) -> list[int]:
    return [each.ready for each in steps]


def _added(steps: list[Step]) -> list[int]:
    forecasts = [each.derivation.steps.get("forecast") for each in steps]
    return [each.after - each.before if each is not None and each.acts else 0 for each in forecasts]


def _mark(steps: list[Step], days: list[float], *places: Axes) -> None:
    """The time in which the forecast may not act, and why."""
    reasons = [
        ""
        if each.derivation.steps.get("forecast") is None
        else each.derivation.steps["forecast"].verdict.reason
        for each in steps
    ]
    begin = 0
    for index in range(1, len(reasons) + 1):
        if index < len(reasons) and reasons[index] == reasons[begin]:
            continue
        if reasons[begin] not in ("Reliable", ""):
            for place in places:
                place.axvspan(days[begin], days[index - 1], color=PROBLEM.light, alpha=0.12, lw=0)
            top = places[-1].get_ylim()[1]
            places[-1].text(days[begin], top * 0.8, f" {reasons[begin]}", fontsize=8)
            print(f"{reasons[begin]}: day {days[begin]:.2f} to {days[index - 1]:.2f}")
        begin = index


if __name__ == "__main__":
    main(Path(sys.argv[1]))

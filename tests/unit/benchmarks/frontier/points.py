"""Loads with a few points."""

from benchmarks.frontier.measured import Day, Measured, Point
from benchmarks.frontier.replays import DEFAULT, FORECAST, HPA, PERFECT, RIVALS
from benchmarks.frontier.shapes import Shape

STEADY = Shape(days=8.0, daily=0.1, weekly=0.0, zero_share=0.0)
DAILY = Shape(days=8.0, daily=0.9, weekly=0.5, zero_share=0.0)


def point(policy, target, hours, short, knob=""):
    forecast = policy == FORECAST
    return Point(
        policy=policy,
        target=target,
        knob=knob,
        days=(Day(1000, short, hours * 30), Day(1000, short, hours * 30)),
        reliable_percent=97.0 if forecast else None,
        waste_percent_max=3.25 if forecast else None,
    )


def measured(load, shape, short, start_up_minutes=2, rivals=RIVALS):
    """The forecast at 70% is short for so many minutes of 1,000, the HPA that costs as much for 80."""
    return Measured(
        load=load,
        shape=shape,
        start_up_minutes=start_up_minutes,
        points=(
            *(point(HPA, *each) for each in ((0.5, 140, 10), (0.7, 100, 80), (0.9, 80, 200))),
            *(point(each, 0.7, 130, 40, "x 1") for each in rivals),
            point(PERFECT, 0.7, 100, 4, "x 1"),
            point(FORECAST, 0.7, 100, short, DEFAULT),
            point(FORECAST, 0.7, 100, short + 8, "budget 20%"),
        ),
    )

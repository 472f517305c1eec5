"""`python -m benchmarks.forecast_memory [COUNT]`: what so many forecasts take in memory, and what they store.

Each has seen eight days of a daily load, which is as much as is kept, and then some minutes of its own.
"""

import math
import os
import sys
from pathlib import Path

import msgspec

from scaler.extensions.forecast.days import IN_UTC
from scaler.extensions.forecast.digest import digest_of
from scaler.extensions.forecast.learner import counted, observed
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.rules import BUDGET_PERCENT
from scaler.extensions.forecast.state import Forecast, Load, Observation, Outcomes

DAYS = 8
LEAD_MINUTES = 5
OWN_MINUTES = LEAD_MINUTES + 1
PER_REPLICA = 20.0
MAX_REPLICAS = 1_000
# A Thursday, 00:00 UTC.
START = 20_000 * MINUTES_PER_DAY


def load(minute: int) -> float:
    """From 100 at night to 700 at noon, with 2% of noise."""
    day = 400.0 - 300.0 * math.cos(2 * math.pi * minute / MINUTES_PER_DAY)
    return day * (1 + 0.02 * math.sin(minute * 12.9898))


def later(state: Forecast, minute: int, factor: float = 1.0) -> Forecast:
    """With the load of one more minute."""
    value = factor * load(minute)
    needed = math.ceil(value / PER_REPLICA)
    found = Observation(
        minute=minute,
        load=Load(total=value, per_replica=PER_REPLICA),
        needed=needed,
        alone=needed,
        most=MAX_REPLICAS,
        budget_percent=float(BUDGET_PERCENT),
        lags=IN_UTC,
    )
    state = observed(state, found)
    return counted(state, alone=needed, final=needed)


def resident_bytes() -> int:
    """Of this process. Linux only."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(count: int) -> None:
    """Measure and print."""
    last = START + DAYS * MINUTES_PER_DAY
    learned = Forecast(identity="load", lead_minutes=LEAD_MINUTES)
    for minute in range(START, last):
        learned = later(learned, minute)
    before = resident_bytes()
    kept = []
    outcomes = msgspec.msgpack.encode(learned.outcomes)
    for number in range(count):
        own = msgspec.msgpack.decode(outcomes, type=Outcomes)
        state = msgspec.structs.replace(learned, outcomes=own)
        for minute in range(last, last + OWN_MINUTES):
            state = later(state, minute, 1 + number / (10 * count))
        kept.append(state)
    used = resident_bytes() - before
    stored = len(digest_of(kept[-1]))
    print(f"{len(kept)} forecasts: {used / 2**20:.0f} MiB, {used / len(kept) / 1000:.0f} kB each;")
    print(f"the digest of each has {stored / 1000:.1f} kB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

"""PURE  Which source has the next turn: the one with the least time so far, if a turn still fits."""

import datetime
from collections.abc import Collection, Mapping, Sequence

import msgspec

PROCESSORS = 2


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Something to run in turns, by numbers: seeds, or what the command calls them."""

    name: str
    command: tuple[
        str, ...
    ]  # with the placeholders {first} and {after}, the first number and the one after the last
    environment: Mapping[str, str] = {}  # values may have them, too
    numbers: int  # in one turn
    first: int = 0  # number of the first soak
    turn_seconds: float  # about, with a free machine
    processors: int = 1
    weight: float = 1.0  # its share of the time

    def command_for(self, first: int) -> list[str]:
        """Of the turn that begins with this number."""
        return [self._filled(each, first) for each in self.command]

    def environment_for(self, first: int) -> dict[str, str]:
        """As `command_for`."""
        return {name: self._filled(text, first) for name, text in self.environment.items()}

    def _filled(self, text: str, first: int) -> str:
        return text.format(first=first, after=first + self.numbers)


class Spent(msgspec.Struct, kw_only=True):
    """What a source has had until now."""

    seconds: float = 0.0
    turns: int = 0
    longest_seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """One more turn."""
        self.seconds += seconds
        self.turns += 1
        self.longest_seconds = max(self.longest_seconds, seconds)


def next_source(
    sources: Sequence[Source],
    spent: Mapping[str, Spent],
    running: Collection[str],
    *,
    remaining_seconds: float,
) -> Source | None:
    """None if nothing fits: into the remaining time, or beside what is running."""
    by_name = {each.name: each for each in sources}
    free = PROCESSORS - sum(by_name[name].processors for name in running)
    waiting = [
        each
        for each in sources
        if each.name not in running and _expected_seconds(each, spent) <= remaining_seconds
    ]
    if not waiting or free <= 0:
        return None
    chosen = min(waiting, key=lambda each: _used(each, spent))
    # Nothing passes one that waits for the second processor, or it would never have its turn.
    return chosen if chosen.processors <= free else None


def _used(source: Source, spent: Mapping[str, Spent]) -> tuple[float, int]:
    known = spent.get(source.name, Spent())
    return known.seconds * source.processors / source.weight, known.turns


def _expected_seconds(source: Source, spent: Mapping[str, Spent]) -> float:
    known = spent.get(source.name, Spent())
    return known.longest_seconds or source.turn_seconds


def seconds_until(time_of_day: str, now: datetime.datetime) -> float:
    """Until the next time that a clock shows HH:MM. Raises ValueError."""
    found = datetime.datetime.strptime(time_of_day, "%H:%M").time()  # noqa: DTZ007  of no day
    ends_at = datetime.datetime.combine(now, found, tzinfo=now.tzinfo)
    if ends_at <= now:
        ends_at += datetime.timedelta(days=1)
    return (ends_at - now).total_seconds()

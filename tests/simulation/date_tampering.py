"""Planted faults of schedules in local time."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.simulation.scenario import Scenario
from tests.simulation.tampering import Tamper


class IgnoresTimeZones(Tamper):
    """The local times of schedules are taken for UTC."""

    invariant = "within bounds"
    field = "dates"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        return _with_zones(spec, lambda _: "UTC")


class ClocksDoNotChange(Tamper):
    """The offset of a time zone stays that of the beginning of the world, so that bounds change when nothing allows it."""

    invariant = "where undisturbed"
    field = "dates"

    def begin(self, scenario: Scenario) -> None:
        self._epoch = scenario.epoch_unix_seconds

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        return _with_zones(spec, self._fixed)

    def _fixed(self, zone: str) -> str:
        """A zone that never changes, where there is one: whole hours; the signs of these names are those of POSIX."""
        offset = datetime.fromtimestamp(self._epoch, ZoneInfo(zone)).utcoffset()
        hours, rest = divmod(int(offset.total_seconds()) if offset else 0, 3600)
        return zone if rest else f"Etc/GMT{-hours:+d}"


class IgnoresSchedules(Tamper):
    """No schedule is ever active."""

    invariant = "schedule applied"
    field = "dates"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in spec.items() if key != "schedules"}


PLANTED_IN_DATES: tuple[Callable[[], Tamper], ...] = (
    IgnoresTimeZones, ClocksDoNotChange, IgnoresSchedules,
)  # fmt: skip


def _with_zones(spec: dict[str, Any], changed: Callable[[str], str]) -> dict[str, Any]:
    schedules = [
        {**each, "timeZone": changed(each["timeZone"])} if "timeZone" in each else each
        for each in spec.get("schedules", ())
    ]
    return {**spec, "schedules": schedules} if schedules else spec

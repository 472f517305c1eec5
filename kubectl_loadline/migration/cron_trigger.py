"""KEDA's trigger `cron`: a schedule with a least number of replicas, from its start to its end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubectl_loadline.migration.conversion import Json, Remarks
from scaler.extensions.schedules.cron import parse_cron
from scaler.extensions.time_zones import time_zone

MINUTES_PER_DAY: Final = 24 * 60


def schedules(
    triggers: Sequence[Mapping[str, Any]], *, min_replicas: int, max_replicas: int, remarks: Remarks
) -> list[Json]:
    """The schedules of all cron triggers; those that cannot be converted become remarks.

    As in KEDA, where the trigger is a metric of an HPA, a trigger does not exceed the bounds: `min_replicas` is 0 with scale to zero.
    """
    found = []
    for index, trigger in enumerate(triggers):
        if trigger.get("type") != "cron":
            continue
        metadata = trigger.get("metadata") or {}
        where = f"spec.triggers[{index}].metadata"
        start, end = (_expression(where, metadata, each, remarks) for each in ("start", "end"))
        minutes = minutes_between(start, end)
        if minutes is None:
            remarks.omit(
                f"spec.triggers[{index}]",
                f"the time from {start!r} to {end!r} is not the same every day",
                "Add a schedule by hand: `schedule` is the start, `durationSeconds` the time to the end.",
            )
            continue
        wanted = remarks.integer(f"{where}.desiredReplicas", metadata.get("desiredReplicas", 1))
        schedule: Json = {
            "name": f"cron-{index}",
            "schedule": start,
            "durationSeconds": minutes * 60,
            "minReplicas": max(1, min_replicas, min(wanted, max_replicas)),
        }
        if zone := str(metadata.get("timezone") or ""):
            _check(time_zone, zone, f"{where}.timezone", remarks)
            schedule["timeZone"] = zone
        found.append(schedule)
    return found


def _expression(where: str, metadata: Mapping[str, Any], name: str, remarks: Remarks) -> str:
    """With single spaces: KEDA's parser takes any, also around the expression."""
    found = " ".join(str(metadata.get(name) or "").split())
    _check(parse_cron, found, f"{where}.{name}", remarks)
    return found


def _check(read: Callable[[str], object], text: str, field: str, remarks: Remarks) -> None:
    """Raises `Unconvertible` for what `read` raises ValueError for."""
    try:
        read(text)
    except ValueError as error:
        raise remarks.unconvertible(field, str(error)) from error


def minutes_between(start: str, end: str) -> int | None:
    """The minutes from one cron expression to the other; None unless both name one time of the same days."""
    first, last = start.split(), end.split()
    if len(first) != 5 or len(last) != 5 or first[2:] != last[2:]:
        return None
    if not all(each.isdecimal() for each in (*first[:2], *last[:2])):
        return None
    minutes = (int(last[1]) - int(first[1])) * 60 + int(last[0]) - int(first[0])
    if minutes > 0:
        return minutes
    # It ends on the next day, so it must start on every day.
    return minutes + MINUTES_PER_DAY if first[2:] == ["*", "*", "*"] and minutes else None

"""KEDA's trigger `cron`: a schedule with a least number of replicas, from its start to its end."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubectl_loadline.migration.conversion import Json, Remarks

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
        start, end = str(metadata.get("start", "")), str(metadata.get("end", ""))
        minutes = minutes_between(start, end)
        if minutes is None:
            remarks.omit(
                f"spec.triggers[{index}]",
                f"the time from {start!r} to {end!r} is not the same every day",
                "Add a schedule by hand: `schedule` is the start, `durationSeconds` the time to the end.",
            )
            continue
        wanted = remarks.integer(
            f"spec.triggers[{index}].metadata.desiredReplicas", metadata.get("desiredReplicas", 1)
        )
        schedule: Json = {
            "name": f"cron-{index}",
            "schedule": start,
            "durationSeconds": minutes * 60,
            "minReplicas": max(1, min_replicas, min(wanted, max_replicas)),
        }
        if zone := metadata.get("timezone"):
            schedule["timeZone"] = zone
        found.append(schedule)
    return found


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

"""KEDA's trigger `cron`: a schedule with a least number of replicas, from its start to its end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubectl_loadline.migration.conversion import Json, Remarks
from scaler.extensions.schedules.cron import parse_cron
from scaler.extensions.time_zones import time_zone

MINUTES_PER_DAY: Final = 24 * 60


class CronTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger that KEDA accepts. `start` and `end` have single spaces: KEDA's parser takes any, also around the expression."""

    index: int
    start: str
    end: str
    time_zone: str
    desired_replicas: int
    multiplies: bool
    """With `metricType: Value`, the HPA multiplies the ready pods by the desired replicas."""


def cron_trigger(index: int, trigger: Mapping[str, Any], remarks: Remarks) -> CronTrigger:
    """What KEDA's `cronMetadata` reads. Raises `Unconvertible` for what it refuses, too."""
    metadata = trigger.get("metadata") or {}
    where = f"spec.triggers[{index}].metadata"
    kind = trigger.get("metricType") or "AverageValue"
    if kind not in ("AverageValue", "Value"):
        raise remarks.unconvertible(
            f"spec.triggers[{index}].metricType",
            f"{kind!r} is neither AverageValue nor Value, which KEDA refuses. Remove it",
        )
    start, end = (_checked(where, metadata, each, parse_cron, remarks) for each in ("start", "end"))
    if start == end:
        raise remarks.unconvertible(f"{where}.end", "it is the same as start, which KEDA refuses")
    return CronTrigger(
        index=index,
        start=start,
        end=end,
        time_zone=_checked(where, metadata, "timezone", time_zone, remarks),
        desired_replicas=remarks.integer(
            f"{where}.desiredReplicas",
            _text(where, metadata, "desiredReplicas", remarks),
            least=1,
        ),
        multiplies=kind == "Value",
    )


def _checked(
    where: str,
    metadata: Mapping[str, Any],
    name: str,
    read: Callable[[str], object],
    remarks: Remarks,
) -> str:
    """The text of a field that `read` raises no ValueError for."""
    found = _text(where, metadata, name, remarks)
    try:
        read(found)
    except ValueError as error:
        raise remarks.unconvertible(f"{where}.{name}", str(error)) from error
    return found


def _text(where: str, metadata: Mapping[str, Any], name: str, remarks: Remarks) -> str:
    found = " ".join(str(metadata.get(name, "")).split())
    if not found:
        raise remarks.unconvertible(f"{where}.{name}", "it is missing, and KEDA requires it")
    return found


def schedules(
    triggers: Sequence[CronTrigger],
    *,
    min_replicas: int,
    max_replicas: int,
    kept_seconds: int,
    remarks: Remarks,
) -> list[Json]:
    """The schedules of the triggers; those that cannot be converted become remarks.

    As in KEDA, where the trigger is a metric of an HPA, a trigger does not exceed the bounds: `min_replicas` is 0 with scale to zero.
    So its replicas are kept after the end, for `kept_seconds`.
    """
    found = []
    for each in triggers:
        minutes = minutes_between(each.start, each.end)
        if minutes is None:
            remarks.omit(
                f"spec.triggers[{each.index}]",
                f"the time from {each.start!r} to {each.end!r} is not the same every day",
                "Add a schedule by hand: `schedule` is the start, `durationSeconds` the time to the end.",
            )
            continue
        schedule: Json = {
            "name": f"cron-{each.index}",
            "schedule": each.start,
            "durationSeconds": minutes * 60 + kept_seconds,
            "minReplicas": max(1, min_replicas, min(each.desired_replicas, max_replicas)),
            "timeZone": each.time_zone,
        }
        if each.multiplies:
            _remark_value(each, schedule["name"], max_replicas, remarks)
        found.append(schedule)
    if found and kept_seconds:
        _remark_duration(kept_seconds, remarks)
    return found


def _remark_duration(kept_seconds: int, remarks: Remarks) -> None:
    remarks.add_common(
        "spec.triggers",
        f"a schedule ends {kept_seconds} s after its cron trigger, because in KEDA the replicas are kept for that long "
        "(scale-down stabilization, or the cooldown if that is shorter)",
    )


def _remark_value(trigger: CronTrigger, schedule: str, max_replicas: int, remarks: Remarks) -> None:
    """KEDA's target is 1, so the usage ratio of the HPA is `desiredReplicas` (`GetExternalMetricReplicas`)."""
    field = f"spec.triggers[{trigger.index}].metricType"
    count = trigger.desired_replicas
    if count == 1:
        remarks.add(
            field,
            "with Value, the HPA of KEDA removes no replicas until the end; the schedule keeps only 1",
        )
        return
    remarks.add(
        field,
        f"with Value, the HPA of KEDA multiplies the replicas by desiredReplicas ({count}) in each sync period, up to maxReplicaCount; "
        f"the schedule keeps at least {count}",
        f"For as many as in KEDA, set minReplicas of the schedule {schedule} to {max_replicas}.",
    )


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

"""Which recorded pods were those of a target, by their names: Prometheus knows neither their labels nor their owners.

A Deployment names its ReplicaSets after itself and the hash of the pod template, and a ReplicaSet its pods after itself and
five random characters. The hash is a 32-bit number in decimal whose digits are written as `456789bcdf` (upstream's
SafeEncodeString in apimachinery), so the pods of another workload with a longer name, such as a Job `web-migrate`, have other names.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from scaler.api.autoscaler import CrossVersionObjectReference
from scaler.cluster.metrics.custom import group_of

APPS: Final = "apps"
# Fewer digits have one hash in 4,000, and a name of another workload may end like them.
_HASH: Final = "[4-9bcdf]{7,10}"
_RANDOM: Final = "[2456789bcdfghjklmnpqrstvwxz]{5}"
_OF_KIND: Final = {"Deployment": f"-{_HASH}-{_RANDOM}", "StatefulSet": "-[0-9]+"}
# A generated name has 58 characters before the random ones: longer ones lose the end of the hash.
_DEPLOYMENT_NAME_MAX: Final = 58 - len("-") - 10 - len("-")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def name_pattern(target: CrossVersionObjectReference) -> str:
    """A regular expression of RE2 for the whole name of a pod. Raises ValueError, and says why there is none."""
    group = group_of(target)
    suffix = _OF_KIND.get(target.kind) if group == APPS else None
    if suffix is None:
        raise ValueError(
            f"the recorded pods of a {target.kind} cannot be recognized by their names: this works only for a "
            f"{' or a '.join(_OF_KIND)} of the API group {APPS}"
        )
    if not _NAME.fullmatch(target.name):
        raise ValueError(f"{target.name!r} is not the name of a {target.kind}")
    if target.kind == "Deployment" and len(target.name) > _DEPLOYMENT_NAME_MAX:
        raise ValueError(
            f"the name {target.name} is longer than {_DEPLOYMENT_NAME_MAX} characters, so its pods have shortened names"
        )
    return target.name.replace(".", "[.]") + suffix


def label_of_pods(rows: Sequence[Mapping[str, str]], names: Collection[str]) -> str | None:
    """The label that has the name of a pod in every row, and another one in each; None if there is not exactly one."""
    labels = [
        label
        for label in (rows[0] if rows else ())
        if {row.get(label) for row in rows} <= set(names)
        and len({row[label] for row in rows}) == len(rows)
    ]
    return labels[0] if len(labels) == 1 else None

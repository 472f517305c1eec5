"""What the scaler was asked to do: flags to one struct, or a message that says which flag is wrong.

Flags are kube-controller-manager's without the prefix, with its long names as aliases, so that a
command line written for it can be taken over. Durations are Go's.
"""

import argparse
from pathlib import Path
from typing import NoReturn

import msgspec

from scaler.model.settings import Settings
from wire.duration import parse_duration


class WatchedKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of autoscaler, and where the API server keeps it."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"

    def collection(self, namespace: str) -> str:
        """The path of the objects of a namespace; of all namespaces when it is empty."""
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"/apis/{self.api_version}{inside}/{self.plural}"

    def object(self, namespace: str, name: str) -> str:
        """The path of one object."""
        return f"{self.collection(namespace)}/{name}"


LOAD_AUTOSCALERS = WatchedKind(
    group="loadline.io", version="v1", plural="loadautoscalers", kind="LoadAutoscaler"
)
HORIZONTAL_POD_AUTOSCALERS = WatchedKind(
    group="autoscaling",
    version="v2",
    plural="horizontalpodautoscalers",
    kind="HorizontalPodAutoscaler",
)
KINDS = {kind.plural: kind for kind in (LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS)}


class LeaderElectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which Lease to hold while scaling; defaults as kube-controller-manager's."""

    enabled: bool = False
    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0
    resource_name: str = "loadline-scaler"
    resource_namespace: str = ""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What `loadline-scaler run` was asked to do."""

    kubeconfig: Path | None = None
    context: str | None = None
    kind: WatchedKind = LOAD_AUTOSCALERS
    namespaces: tuple[str, ...] = ()
    sync_period_seconds: float = 15.0
    concurrent_syncs: int = 20
    settings: Settings = Settings(scale_to_zero=True)
    leader_election: LeaderElectionOptions = LeaderElectionOptions()
    verbosity: int = 0


class Parser(argparse.ArgumentParser):
    """An argparse parser that takes no abbreviations and says where help is; a wrong flag ends the program with 2."""

    def error(self, message: str) -> NoReturn:
        """Upstream's programs print the whole usage here, which hides the message."""
        self.exit(2, f"{self.prog}: {message}\nSee {self.prog} --help\n")


def duration(text: str) -> float:
    """A flag's Go duration in seconds; `1m30s`, `100ms`."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return seconds


def period(text: str) -> float:
    """A duration that must be longer than nothing."""
    seconds = duration(text)
    if seconds == 0:
        raise argparse.ArgumentTypeError(f"{text} is no period: write for example 15s")
    return seconds


def tolerance(text: str) -> float:
    """A ratio, 0 or more."""
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no ratio of 0 or more, such as 0.1")
    return ratio


def count(text: str) -> int:
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return int(text)


def switch(text: str) -> bool:
    """A Go boolean flag's value."""
    values = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}
    try:
        return values[text.lower()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false") from None


def namespaces(text: str) -> tuple[str, ...]:
    """One namespace or several, separated by commas."""
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


GATES = {
    "HPAScaleToZero": "scale_to_zero",
    "HPAConfigurableTolerance": "configurable_tolerance",
    "PodLevelResources": "pod_level_resources",
}


def feature_gates(text: str) -> dict[str, bool]:
    """`Name=true,...`, for the gates that the algorithm knows; fields of `Settings` to their value."""
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in GATES:
            raise argparse.ArgumentTypeError(f"unknown gate {name!r}: known are {', '.join(GATES)}")
        found[GATES[name]] = switch(value)
    return found


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of `run`."""
    cluster = parser.add_argument_group("cluster")
    cluster.add_argument(
        "--kubeconfig",
        type=Path,
        help="default: $KUBECONFIG, the pod's service account, ~/.kube/config",
    )
    cluster.add_argument("--context", help="context of the kubeconfig")
    cluster.add_argument(
        "--watch",
        choices=list(KINDS),
        default=LOAD_AUTOSCALERS.plural,
        help="which kind to scale by (%(default)s)",
    )
    cluster.add_argument(
        "--namespace",
        type=namespaces,
        action="extend",
        default=[],
        help="only this namespace; may be given again, or several with commas (all)",
    )
    _add_algorithm_flags(parser.add_argument_group("algorithm"))
    _add_leader_flags(parser.add_argument_group("leader election"))
    parser.add_argument(
        "-v",
        "--v",
        dest="verbosity",
        type=int,
        default=0,
        help="verbosity of the log; 4 and more for every request",
    )


def _add_algorithm_flags(group: "argparse._ArgumentGroup") -> None:
    defaults = Settings()
    long = "--horizontal-pod-autoscaler-"
    group.add_argument(
        "--sync-period",
        f"{long}sync-period",
        type=period,
        default=15.0,
        metavar="DURATION",
        help="time between two looks at an autoscaler (15s)",
    )
    group.add_argument(
        "--tolerance",
        f"{long}tolerance",
        type=tolerance,
        default=defaults.tolerance,
        metavar="RATIO",
        help="ratio of change that is ignored (%(default)s)",
    )
    group.add_argument(
        "--downscale-stabilization",
        f"{long}downscale-stabilization",
        type=duration,
        default=defaults.downscale_stabilization_seconds,
        metavar="DURATION",
        help="how long recommendations hold replicas up (5m)",
    )
    group.add_argument(
        "--cpu-initialization-period",
        f"{long}cpu-initialization-period",
        type=duration,
        default=defaults.cpu_initialization_period_seconds,
        metavar="DURATION",
        help="how long after its start a pod's cpu may be ignored (5m)",
    )
    group.add_argument(
        "--initial-readiness-delay",
        f"{long}initial-readiness-delay",
        type=duration,
        default=defaults.initial_readiness_delay_seconds,
        metavar="DURATION",
        help="within which a pod's first readiness may still change (30s)",
    )
    group.add_argument(
        "--concurrent-syncs",
        "--concurrent-horizontal-pod-autoscaler-syncs",
        type=count,
        default=20,
        metavar="N",
        help="looks at once (%(default)s)",
    )
    group.add_argument(
        "--feature-gates",
        type=feature_gates,
        default={},
        metavar="NAME=BOOL,...",
        help=f"{', '.join(GATES)}; HPAScaleToZero is on for LoadAutoscalers, off for HorizontalPodAutoscalers",
    )


def _add_leader_flags(group: "argparse._ArgumentGroup") -> None:
    defaults = LeaderElectionOptions()
    group.add_argument(
        "--leader-elect",
        type=switch,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="scale only while holding a Lease, so that several replicas may run (false)",
    )
    group.add_argument(
        "--leader-elect-lease-duration",
        type=period,
        default=defaults.lease_duration_seconds,
        metavar="DURATION",
        help="after which others may take over (15s)",
    )
    group.add_argument(
        "--leader-elect-renew-deadline",
        type=period,
        default=defaults.renew_deadline_seconds,
        metavar="DURATION",
        help="after which a leader that cannot renew stops (10s)",
    )
    group.add_argument(
        "--leader-elect-retry-period",
        type=period,
        default=defaults.retry_period_seconds,
        metavar="DURATION",
        help="time between two attempts (2s)",
    )
    group.add_argument(
        "--leader-elect-resource-name",
        default=defaults.resource_name,
        metavar="NAME",
        help="name of the Lease (%(default)s)",
    )
    group.add_argument(
        "--leader-elect-resource-namespace",
        default="",
        metavar="NAME",
        help="its namespace (the pod's own)",
    )
    for ignored in ("--leader-elect-resource-lock",):
        group.add_argument(ignored, help=argparse.SUPPRESS)


def options_of(flags: argparse.Namespace) -> Options:
    """The parsed flags as one struct. Raises `ValueError` when two of them contradict each other."""
    kind = KINDS[flags.watch]
    settings = Settings(
        tolerance=flags.tolerance,
        downscale_stabilization_seconds=flags.downscale_stabilization,
        cpu_initialization_period_seconds=flags.cpu_initialization_period,
        initial_readiness_delay_seconds=flags.initial_readiness_delay,
        **{"scale_to_zero": kind is LOAD_AUTOSCALERS, **flags.feature_gates},
    )
    return Options(
        kubeconfig=flags.kubeconfig,
        context=flags.context,
        kind=kind,
        namespaces=tuple(dict.fromkeys(flags.namespace)),
        sync_period_seconds=flags.sync_period,
        concurrent_syncs=flags.concurrent_syncs,
        settings=settings,
        leader_election=_leader_election(flags),
        verbosity=flags.verbosity,
    )


def _leader_election(flags: argparse.Namespace) -> LeaderElectionOptions:
    found = LeaderElectionOptions(
        enabled=flags.leader_elect,
        lease_duration_seconds=flags.leader_elect_lease_duration,
        renew_deadline_seconds=flags.leader_elect_renew_deadline,
        retry_period_seconds=flags.leader_elect_retry_period,
        resource_name=flags.leader_elect_resource_name,
        resource_namespace=flags.leader_elect_resource_namespace,
    )
    if not found.lease_duration_seconds > found.renew_deadline_seconds > found.retry_period_seconds:
        raise ValueError(
            "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, "
            "and that longer than --leader-elect-retry-period"
        )
    return found

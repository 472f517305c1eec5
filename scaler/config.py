"""What the scaler was asked to do: flags to one struct, or a message that says which flag is wrong.

Flags are kube-controller-manager's without the prefix, with its long names as aliases, so that a
command line written for it can be taken over. Durations are Go's.
"""

import argparse
from pathlib import Path

import msgspec

from scaler.model.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS, WatchedKind
from scaler.model.settings import Settings
from wire.command_line.parsing import CommaList, FlagParser, boolean, duration_seconds
from wire.kube.leases import LeaseTimes
from wire.logs import LoggingOptions, add_logging_flags
from wire.serving.options import ServingOptions, add_flags, from_arguments

KINDS = {kind.plural: kind for kind in (LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS)}


class LeaderElectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which Lease to hold while scaling; defaults as kube-controller-manager's."""

    enabled: bool = False
    times: LeaseTimes = LeaseTimes()
    resource_name: str = "loadline-scaler"
    resource_namespace: str = ""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What `loadline-scaler run` was asked to do."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    sync_period_seconds: float = 15.0
    concurrent_syncs: int = 20
    settings: Settings = Settings(kind=LOAD_AUTOSCALERS, scale_to_zero=True)
    leader_election: LeaderElectionOptions = LeaderElectionOptions()
    serving: ServingOptions = ServingOptions(secure_port=10443)
    logging: LoggingOptions = LoggingOptions()

    @property
    def kind(self) -> WatchedKind:
        """The kind of autoscaler to scale by."""
        return self.settings.kind


def period(text: str) -> float:
    """A duration that must be longer than nothing."""
    seconds = duration_seconds(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no length of time: write for example 15s")
    return seconds


def window(text: str) -> float:
    """A duration that may be nothing."""
    seconds = duration_seconds(text)
    if seconds < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
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
        found[GATES[name]] = boolean(value)
    return found


def add_run_flags(parser: FlagParser) -> None:
    """The flags of `run`."""
    add_flags(parser, secure_port=10443, except_ignored=("feature-gates",))
    add_logging_flags(parser.group("logging"), levels="4 also logs debug messages")
    _add_cluster_flags(parser)
    _add_algorithm_flags(parser)
    _add_leader_flags(parser)


def _add_cluster_flags(parser: FlagParser) -> None:
    add = parser.add_argument
    where = "kubeconfig; default: $KUBECONFIG, the pod's service account, ~/.kube/config"
    add("--kubeconfig", type=Path, help=where)
    add("--context", help="context of the kubeconfig")
    watched = "kind of autoscaler to scale by (%(default)s)"
    add("--watch", choices=list(KINDS), default=LOAD_AUTOSCALERS.plural, help=watched)
    only = "only this namespace; may be given again, or several with commas (all)"
    add("--namespace", action=CommaList, default=(), help=only)


def _add_algorithm_flags(parser: FlagParser) -> None:
    add = parser.add_argument
    defaults = Settings()
    durations = (
        ("sync-period", period, 15.0, "time between two looks at an autoscaler (15s)"),
        (
            "downscale-stabilization",
            window,
            defaults.downscale_stabilization_seconds,
            "how long past recommendations hold replicas up (5m)",
        ),
        (
            "cpu-initialization-period",
            window,
            defaults.cpu_initialization_period_seconds,
            "how long after a pod's start its cpu may be ignored (5m)",
        ),
        (
            "initial-readiness-delay",
            window,
            defaults.initial_readiness_delay_seconds,
            "how long after a pod's start it counts as never ready when it is not (30s)",
        ),
        (
            "tolerance",
            tolerance,
            defaults.tolerance,
            "how far the ratio of metric to target may be from 1 without a change (0.1)",
        ),
    )
    for name, kind, default, text in durations:
        add(
            f"--{name}",
            f"--horizontal-pod-autoscaler-{name}",
            type=kind,
            default=default,
            help=text,
        )
    add(
        "--concurrent-syncs",
        "--concurrent-horizontal-pod-autoscaler-syncs",
        type=count,
        default=20,
        help="looks at once (%(default)s)",
    )
    gates = f"NAME=BOOL,... of {', '.join(GATES)}; HPAScaleToZero is on for LoadAutoscalers"
    add("--feature-gates", dest="gates", type=feature_gates, default={}, help=gates)


def _add_leader_flags(parser: FlagParser) -> None:
    add = parser.add_argument
    defaults = LeaderElectionOptions()
    parser.add_boolean(
        "--leader-elect", help="scale only while holding a Lease, so that several replicas may run"
    )
    for name, default, text in (
        ("lease-duration", defaults.times.lease_seconds, "after which others take over (15s)"),
        (
            "renew-deadline",
            defaults.times.renew_deadline_seconds,
            "after which a leader that cannot renew stops scaling (10s)",
        ),
        ("retry-period", defaults.times.retry_seconds, "between two attempts (2s)"),
    ):
        add(f"--leader-elect-{name}", type=period, default=default, help=text)
    add(
        "--leader-elect-resource-name",
        default=defaults.resource_name,
        help="name of the Lease (%(default)s)",
    )
    add("--leader-elect-resource-namespace", default="", help="its namespace (the pod's own)")


def options_of(flags: argparse.Namespace) -> Options:
    """The parsed flags as one struct. Raises `ValueError` when two of them contradict each other."""
    kind = KINDS[flags.watch]
    settings = Settings(
        kind=kind,
        tolerance=flags.tolerance,
        downscale_stabilization_seconds=flags.downscale_stabilization,
        cpu_initialization_period_seconds=flags.cpu_initialization_period,
        initial_readiness_delay_seconds=flags.initial_readiness_delay,
        **{"scale_to_zero": kind.scales_to_zero_by_default, **flags.gates},
    )
    return Options(
        kubeconfig=flags.kubeconfig,
        context=flags.context,
        namespaces=tuple(dict.fromkeys(flags.namespace)),
        sync_period_seconds=flags.sync_period,
        concurrent_syncs=flags.concurrent_syncs,
        settings=settings,
        leader_election=_leader_election(flags),
        serving=from_arguments(flags),
        logging=LoggingOptions(format=flags.logging_format, verbosity=flags.verbosity),
    )


def _leader_election(flags: argparse.Namespace) -> LeaderElectionOptions:
    times = LeaseTimes(
        lease_seconds=flags.leader_elect_lease_duration,
        renew_deadline_seconds=flags.leader_elect_renew_deadline,
        retry_seconds=flags.leader_elect_retry_period,
    )
    if not times.lease_seconds > times.renew_deadline_seconds > times.retry_seconds:
        raise ValueError(
            "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, "
            "and that longer than --leader-elect-retry-period"
        )
    return LeaderElectionOptions(
        enabled=flags.leader_elect,
        times=times,
        resource_name=flags.leader_elect_resource_name,
        resource_namespace=flags.leader_elect_resource_namespace,
    )

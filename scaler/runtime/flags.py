"""The flags of `loadline-scaler run`, and the options they are parsed to.

Flags are kube-controller-manager's without the prefix; its full names are accepted as aliases, so that
its command line can be reused. Durations are Go's.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import msgspec

from scaler.algorithm.settings import Settings
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS, WatchedKind
from scaler.api.upstream import NEWEST, OLDEST, UPSTREAMS, minor_of, upstream_of
from scaler.cluster.lease import LeaseTimes
from scaler.extensions import extensions_of
from scaler.runtime.adapter_options import (
    AdapterOptions,
    adapter_options,
    add_adapter_flags,
    namespaced_name,
)
from scaler.runtime.prometheus_flags import add_prometheus_flags, prometheus_options
from wire.kube.chosen_context import ChosenContext
from wire.process.command_line.parsing import FlagGroup, FlagParser, boolean, duration_seconds
from wire.process.logs import LoggingOptions, add_logging_flags
from wire.prometheus.options import PrometheusOptions
from wire.serving.options import ServingOptions, add_flags, from_arguments

KINDS = {kind.plural: kind for kind in (LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS)}


class LeaderElectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The Lease to hold while scaling; the defaults are kube-controller-manager's.

    `sharding`: several replicas scale, each what belongs to the shards that it owns.
    """

    enabled: bool = False
    sharding: bool = False
    times: LeaseTimes = LeaseTimes()
    resource_name: str = "loadline-scaler"
    resource_namespace: str = ""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed flags of `loadline-scaler run`."""

    kubeconfig: Path | None = None
    context: ChosenContext = ChosenContext()
    namespaces: tuple[str, ...] = ()
    concurrent_syncs: int = 20
    autoscaler_metrics: bool = True
    kubernetes_version: int | None = None
    """The minor version whose HPA controller to equal; None for that of the API server."""
    settings: Settings = Settings(
        extensions=extensions_of(LOAD_AUTOSCALERS),
        kind=LOAD_AUTOSCALERS,
        metric_status_max_age_seconds=LOAD_AUTOSCALERS.metric_status_max_age_seconds,
    )
    adapter: AdapterOptions | None = AdapterOptions()
    """None: metrics are read through kube-apiserver only."""
    prometheus: PrometheusOptions | None = None
    leader_election: LeaderElectionOptions = LeaderElectionOptions()
    serving: ServingOptions = ServingOptions(secure_port=10443)
    certificate_config_map: tuple[str, str] | None = None
    logging: LoggingOptions = LoggingOptions()

    @property
    def follows_server_version(self) -> bool:
        """Whether the version of the API server decides whose HPA controller to equal."""
        return self.kubernetes_version is None and self.settings.kind.follows_server_version


def period(text: str) -> float:
    """A duration greater than 0."""
    seconds = duration_seconds(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} must be greater than 0, such as 15s")
    return seconds


def window(text: str) -> float:
    """A duration of 0 or more."""
    seconds = duration_seconds(text)
    if seconds < 0:
        raise argparse.ArgumentTypeError(f"{text} must not be negative")
    return seconds


def tolerance(text: str) -> float:
    """A ratio, 0 or more."""
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a ratio of 0 or more, such as 0.1")
    return ratio


def count(text: str) -> int:
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


GATES = {
    "HPAScaleToZero": "scale_to_zero",
    "HPAConfigurableTolerance": "configurable_tolerance",
    "PodLevelResources": "pod_level_resources",
}
"""Gates that are fields of `Settings`."""
TRAIT_GATES = {
    "HPAGeneration": "keeps_generations",
    "HPAOptimizedSelectorStore": "names_two_of_ambiguous",
    "StaleControllerConsistencyHPA": "skips_outdated_reads",
}
"""Gates that are traits of `Upstream`."""


def feature_gates(text: str) -> dict[str, bool]:
    """`Name=true,...` by name; only the gates that affect what the scaler does are known."""
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in GATES and name not in TRAIT_GATES:
            raise argparse.ArgumentTypeError(
                f"unknown feature gate {name!r}: use {', '.join([*GATES, *TRAIT_GATES])}"
            )
        found[name] = boolean(value)
    return found


def minor_version(text: str) -> int:
    """A Kubernetes version whose HPA controller is known, as its minor version."""
    try:
        minor = minor_of(text)
    except ValueError:
        minor = -1
    if not OLDEST.minor <= minor <= NEWEST.minor:
        known = ", ".join(f"1.{each.minor}" for each in UPSTREAMS)
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a known version of Kubernetes: use one of {known}, or leave the flag out"
        )
    return minor


def add_run_flags(parser: FlagParser) -> None:
    """Declare the flags of `run`."""
    _add_cluster_flags(parser.group("cluster"))
    algorithm = parser.group("algorithm")
    add_algorithm_flags(algorithm)
    _add_run_only_flags(algorithm)
    add_adapter_flags(parser.group("metrics"))
    add_prometheus_flags(parser.group("recorded history"))
    _add_leader_flags(parser.group("leader election"))
    add_flags(parser, secure_port=10443, except_ignored=("feature-gates",))
    parser.group("published certificate").add_argument(
        "--certificate-config-map",
        type=namespaced_name,
        default=None,
        metavar="NAMESPACE/NAME",
        help="existing ConfigMap to publish the serving certificate in, for `kubectl loadline` to verify it (default: none)",
    )
    add_logging_flags(parser.group("logging"), levels="4 also logs debug messages")


def _add_cluster_flags(flags: FlagGroup) -> None:
    flags.add_file(
        "--kubeconfig",
        help="kubeconfig (default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    flags.add_context()
    flags.add_argument(
        "--watch",
        choices=list(KINDS),
        default=LOAD_AUTOSCALERS.plural,
        metavar="KIND",
        help=f"kind of autoscaler to reconcile: {' or '.join(KINDS)}",
    )
    flags.add_list(
        "--namespace",
        metavar="NAMES",
        help="namespaces to watch, separated by commas or repeated (default: all)",
    )
    flags.add_boolean(
        "--autoscaler-metrics",
        default=True,
        help="export metrics of each autoscaler, about 15 samples each",
    )


def add_algorithm_flags(flags: FlagGroup) -> None:
    """Declare the flags of the HPA algorithm."""
    defaults = Settings()
    for name, parse, seconds, text in (
        ("sync-period", period, 15.0, "time between two reconciles of an autoscaler"),
        (
            "downscale-stabilization",
            window,
            defaults.downscale_stabilization_seconds,
            "scale down to the highest recommendation of this window",
        ),
        (
            "cpu-initialization-period",
            window,
            defaults.cpu_initialization_period_seconds,
            "time after a pod's start in which its CPU usage counts only while it is ready",
        ),
        (
            "initial-readiness-delay",
            window,
            defaults.initial_readiness_delay_seconds,
            "time after a pod's start in which its readiness changes count as its initial readiness",
        ),
    ):
        flags.add_duration(f"--{name}", parse=parse, default_seconds=seconds, help=text)
        _add_alias(flags, f"--horizontal-pod-autoscaler-{name}", of=name, parse=parse)
    flags.add_argument(
        "--tolerance",
        type=tolerance,
        default=defaults.tolerance,
        metavar="RATIO",
        help="deviations of a metric from its target up to this ratio are ignored",
    )
    _add_alias(flags, "--horizontal-pod-autoscaler-tolerance", of="tolerance", parse=tolerance)
    flags.add_argument(
        "--feature-gates",
        dest="gates",
        type=feature_gates,
        default={},
        metavar="NAME=BOOL,...",
        help=f"{', '.join([*GATES, *TRAIT_GATES])} (default: true, but for HPAs before Kubernetes 1.37 only "
        "HPAConfigurableTolerance and PodLevelResources are)",
    )
    flags.add_argument(
        "--kubernetes-version",
        type=minor_version,
        default=None,
        metavar="VERSION",
        help=f"scale HPAs as the controller of this version, 1.{OLDEST.minor} to 1.{NEWEST.minor} "
        "(default: that of the API server)",
    )


def _add_run_only_flags(flags: FlagGroup) -> None:
    flags.add_argument(
        "--metric-status-max-age",
        type=window,
        default=None,
        metavar="DURATION",
        help="how long the status may keep a metric value that has since changed by up to 10%% "
        "(default: 1m, but 0s for HPAs)",
    )
    flags.add_argument(
        "--concurrent-syncs",
        type=count,
        default=20,
        metavar="COUNT",
        help="maximum number of concurrent reconciles",
    )
    _add_alias(
        flags, "--concurrent-horizontal-pod-autoscaler-syncs", of="concurrent-syncs", parse=count
    )


def _add_alias(flags: FlagGroup, name: str, *, of: str, parse: Callable[[str], object]) -> None:
    """Accept kube-controller-manager's name of a flag, without listing it in the help."""
    flags.add_argument(
        name,
        dest=of.replace("-", "_"),
        type=parse,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


def _add_leader_flags(flags: FlagGroup) -> None:
    defaults = LeaderElectionOptions()
    flags.add_boolean(
        "--leader-elect",
        help="scale only while holding a Lease; required to run several replicas",
    )
    flags.add_boolean(
        "--sharding",
        help="share the namespaces among the replicas, instead of one active leader with standbys; set it on all replicas",
    )
    for name, seconds, text in (
        (
            "lease-duration",
            defaults.times.lease_seconds,
            "time after the last renewal at which another replica may take over",
        ),
        (
            "renew-deadline",
            defaults.times.renew_deadline_seconds,
            "time after which a leader that cannot renew its Lease stops scaling",
        ),
        ("retry-period", defaults.times.retry_seconds, "time between two attempts"),
    ):
        flags.add_duration(
            f"--leader-elect-{name}", parse=period, default_seconds=seconds, help=text
        )
    flags.add_argument(
        "--leader-elect-resource-name",
        default=defaults.resource_name,
        metavar="NAME",
        help="name of the Lease, and with --sharding the prefix of the names of the Leases",
    )
    flags.add_argument(
        "--leader-elect-resource-namespace",
        default="",
        metavar="NAMESPACE",
        help="namespace of the Lease (default: the pod's, or kube-system outside a cluster)",
    )


def options_of(flags: argparse.Namespace) -> Options:
    """The parsed flags as one struct. Raises `ValueError` when they contradict each other."""
    kind = KINDS[flags.watch]
    if flags.kubernetes_version is not None and not kind.follows_server_version:
        raise ValueError(
            f"--kubernetes-version applies only to HPAs; a {kind.kind} always has the newest behavior: "
            f"remove it, or add --watch={HORIZONTAL_POD_AUTOSCALERS.plural}"
        )
    max_age_seconds = flags.metric_status_max_age
    settings = msgspec.structs.replace(
        settings_of(flags, kind),
        metric_status_max_age_seconds=kind.metric_status_max_age_seconds
        if max_age_seconds is None
        else max_age_seconds,
    )
    return Options(
        kubeconfig=flags.kubeconfig,
        context=ChosenContext(name=flags.context or None),
        namespaces=tuple(dict.fromkeys(flags.namespace)),
        concurrent_syncs=flags.concurrent_syncs,
        autoscaler_metrics=flags.autoscaler_metrics,
        kubernetes_version=flags.kubernetes_version,
        settings=settings,
        adapter=adapter_options(flags),
        prometheus=prometheus_options(flags),
        leader_election=_leader_election(flags),
        serving=from_arguments(flags),
        certificate_config_map=flags.certificate_config_map,
        logging=LoggingOptions(format=flags.logging_format, verbosity=flags.verbosity),
    )


def settings_of(flags: argparse.Namespace, kind: WatchedKind) -> Settings:
    """The flags of the algorithm as one struct. Without `--kubernetes-version`, an HPA has the newest controller."""
    gates, minor = flags.gates, flags.kubernetes_version
    settings = Settings(
        kind=kind,
        gated_traits={TRAIT_GATES[name]: on for name, on in gates.items() if name in TRAIT_GATES},
        extensions=extensions_of(kind),
        sync_period_seconds=flags.sync_period,
        tolerance=flags.tolerance,
        downscale_stabilization_seconds=flags.downscale_stabilization,
        cpu_initialization_period_seconds=flags.cpu_initialization_period,
        initial_readiness_delay_seconds=flags.initial_readiness_delay,
        **{GATES[name]: on for name, on in gates.items() if name in GATES},
    )
    is_given = minor is not None and kind.follows_server_version
    return settings.of_version(upstream_of(minor) if is_given else NEWEST)


def _leader_election(flags: argparse.Namespace) -> LeaderElectionOptions:
    times = LeaseTimes(
        lease_seconds=flags.leader_elect_lease_duration,
        renew_deadline_seconds=flags.leader_elect_renew_deadline,
        retry_seconds=flags.leader_elect_retry_period,
    )
    if not times.lease_seconds > times.renew_deadline_seconds > times.retry_seconds:
        raise ValueError(
            "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, "
            "which must be longer than --leader-elect-retry-period"
        )
    return LeaderElectionOptions(
        enabled=flags.leader_elect,
        sharding=flags.sharding,
        times=times,
        resource_name=flags.leader_elect_resource_name,
        resource_namespace=flags.leader_elect_resource_namespace,
    )

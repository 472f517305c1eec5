"""`loadline-scaler simulate NAMESPACE/NAME`: what the scaler would decide with other metrics, at another time.

It reads the autoscaler with its history, the target's scale and pods, and the metrics that are not given, and passes
them to the functions that the running scaler uses. It writes nothing. The autoscaler is decided as if no other one
scaled its target.
"""

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kubectl_loadline.decisions.metric_names import explained
from scaler.algorithm.decide import decide
from scaler.algorithm.decision import Decision
from scaler.algorithm.derivation import encoded
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import AnyMemory, Memory
from scaler.algorithm.observed import Observed, Pod, ScaleUnavailable, ScaleView, TargetPods
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import Reading
from scaler.algorithm.settings import Settings
from scaler.algorithm.simulated_readings import simulated
from scaler.api.autoscaler import Autoscaler, MetricSpec, metrics_of
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.api.metric_references import names_of
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.schedules.calendars import read_calendars
from scaler.cluster.server_version import settings_of_server
from scaler.cluster.status import stored_memory
from scaler.cluster.target_scale import TargetScale, read_scale
from scaler.cluster.telemetry import Telemetry
from scaler.extensions import inputs_of
from scaler.runtime.clients import Clients
from scaler.runtime.flags import KINDS, add_algorithm_flags, settings_of
from wire.api import kube_json
from wire.api.labels import Selector
from wire.api.status import StatusError, Unavailable
from wire.kube.chosen_context import ChosenContext, add_context_flags, context_of
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.connection import connect
from wire.kube.mapper import RestMapper
from wire.kube.requests import Reader
from wire.process.command_line.messages import print_error, printable
from wire.process.command_line.parsing import (
    FlagParser,
    FlagSet,
    did_you_mean,
    moment_unix_seconds,
    name_and_value,
)
from wire.process.event_loop import run


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate. `values` are texts by the name of a metric; `replicas` None for those that there are."""

    autoscaler: str
    settings: Settings
    values: Mapping[str, str]
    at_unix_seconds: float
    replicas: int | None = None


class _Pods(msgspec.Struct, frozen=True):
    items: tuple[Pod, ...] | None = ()


def main(arguments: Sequence[str]) -> int:
    """Print the decision; returns 1 when something cannot be read, 2 when the command line is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    if given.autoscaler.count("/") != 1 or not all(given.autoscaler.split("/")):
        flags.error(f"{given.autoscaler!r} is not of the form NAMESPACE/NAME")
    kind = KINDS[given.watch]
    simulation = Simulation(
        autoscaler=given.autoscaler,
        settings=settings_of(given, kind),
        values=dict(given.metric),
        at_unix_seconds=time.time() if given.at is None else given.at,
        replicas=given.replicas,
    )
    try:
        decision = run(
            simulate_in_cluster(
                simulation,
                given.kubeconfig,
                context_of(given),
                follows_server_version=kind.follows_server_version
                and given.kubernetes_version is None,
            )
        )
    except (StatusError, Unavailable) as error:
        print_error(f"loadline-scaler simulate: {error.message}")
        return 1
    except (ConnectionConfigError, ValueError) as error:
        print_error(f"loadline-scaler simulate: {error}")
        return 2
    text = printed(decision, simulation.settings, given.output)
    print(text if given.output == "json" else printable(text))
    return 0


def printed(decision: Decision, settings: Settings, output: str) -> str:
    """The derivation as text, as of `why`, or as indented JSON."""
    if output == "json":
        return msgspec.json.format(encoded(decision.derivation), indent=2).decode()
    return explained(decision.derivation, settings.extensions)


async def simulate_in_cluster(
    simulation: Simulation,
    kubeconfig: Path | None,
    context: ChosenContext,
    *,
    follows_server_version: bool,
) -> Decision:
    """The decision, as of the HPA controller of the API server's version with `follows_server_version`.

    Raises `StatusError`, `Unavailable`, `ConnectionConfigError` and `ValueError`.
    """
    clients = Clients.over(
        await connect(kubeconfig, context=context, user_agent="loadline-scaler-simulate")
    )
    try:
        mapper = RestMapper(clients.requests)
        await mapper.refresh()
        if follows_server_version:
            settings = await settings_of_server(clients.requests, simulation.settings)
            simulation = msgspec.structs.replace(simulation, settings=settings)
        return await simulate(simulation, clients.requests, clients.metrics, mapper)
    finally:
        await clients.close()


async def simulate(
    simulation: Simulation, kube: Reader, metrics_apis: Reader, mapper: RestMapper
) -> Decision:
    """Read what is not given, plan and decide. Raises `StatusError`, `Unavailable` and `ValueError`."""
    namespace, name = simulation.autoscaler.split("/")
    settings, now = simulation.settings, simulation.at_unix_seconds
    body = await kube.get(settings.kind.object(namespace, name))
    autoscaler = kube_json.decode(body, Autoscaler)
    values = _by_metric(simulation.values, metrics_of(autoscaler.spec))
    memory: AnyMemory = Memory()
    if settings.kind.keeps_history:
        memory = stored_memory(body)
        if simulation.replicas is not None:
            # No one has scaled the target from the stored count to this one.
            memory = msgspec.structs.replace(memory, known_replicas=())
    scale = await read_scale(kube, mapper, autoscaler)
    observed = Observed(
        autoscaler=autoscaler,
        scale=_scale(scale, simulation.replicas),
        inputs=inputs_of(calendars=await read_calendars(kube, autoscaler)),
    )
    planned = plan(observed, memory, settings, now)
    if not isinstance(planned, Ask):
        return planned
    pods = await _pods(kube, namespace, planned.selector)
    measurements = Measurements(
        metrics_apis,
        mapper,
        Telemetry(),
        period_seconds=settings.sync_period_seconds,
        keeps_case=settings.kind.keeps_case,
    )
    missing = [metric for index, metric in enumerate(planned.metrics) if values.get(index) is None]
    measured = iter(await measurements.reads(namespace, missing, planned.selector).read())
    readings: list[Reading] = []
    for index, metric in enumerate(planned.metrics):
        value = values.get(index)
        if value is None:
            readings.append(next(measured).reading)
        else:
            pod_level = settings.pod_level_resources
            readings.append(simulated(metric, value, pods, pod_level_resources=pod_level))
    return decide(planned, TargetPods(pods=pods), readings, now)


def _scale(
    scale: TargetScale | ScaleUnavailable, replicas: int | None
) -> ScaleUnavailable | ScaleView:
    if isinstance(scale, ScaleUnavailable):
        return scale
    if replicas is None:
        return scale.view
    return msgspec.structs.replace(scale.view, spec_replicas=replicas, status_replicas=replicas)


async def _pods(kube: Reader, namespace: str, selector: Selector) -> tuple[Pod, ...]:
    path = f"/api/v1/namespaces/{namespace}/pods"
    body = await kube.get(path, {"labelSelector": str(selector)})
    found = kube_json.decode(body, _Pods).items or ()
    return tuple(sorted(found, key=lambda pod: pod.metadata.name))


def _by_metric(values: Mapping[str, str], metrics: Sequence[MetricSpec]) -> dict[int, str]:
    """The given values by the index of their metric. Raises ValueError for a name that is not one metric's."""
    found: dict[int, str] = {}
    for name, value in values.items():
        named = [index for index, metric in enumerate(metrics) if metric.name == name]
        matching = named or [i for i, metric in enumerate(metrics) if name in names_of(metric)]
        if len(matching) != 1:
            raise ValueError(_wrong_name(name, metrics, is_known=bool(matching)))
        found[matching[0]] = value
    return found


def _wrong_name(name: str, metrics: Sequence[MetricSpec], *, is_known: bool) -> str:
    names = Counter(each for metric in metrics for each in names_of(metric)[:1])
    unique = [each for each, count in names.items() if count == 1]
    if is_known:
        use = f"use {' or '.join(unique)}" if unique else "give each metric of the spec a `name`"
        return f"several metrics have the name {name!r}: {use}"
    use = f": use {' or '.join(unique)}" if unique else ""
    return f"unknown metric {name!r}{did_you_mean(name, unique) or use}"


def _replicas(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def add_simulation_flags(flags: FlagSet) -> None:
    """Declare `--metric`, `--at` and `--replicas`."""
    flags.add_argument(
        "--metric",
        metavar="NAME=VALUE",
        type=name_and_value,
        action="append",
        default=[],
        help="value of the metric with this name, as a quantity (of one pod, such as cpu=250m, if the metric is per pod), cpu=140%% of "
        "the requests, or fails for a failed metric; may be repeated",
    )
    flags.add_argument(
        "--at",
        metavar="TIME",
        type=moment_unix_seconds,
        help="time of the decision, in UTC unless it has an offset (default: now)",
    )
    flags.add_argument(
        "--replicas",
        metavar="COUNT",
        type=_replicas,
        help="replicas of the target (default: those that it has)",
    )


def parser() -> FlagParser:
    """The flags of `simulate`."""
    parser = FlagParser(
        prog="loadline-scaler simulate",
        usage="%(prog)s NAMESPACE/NAME [flags]",
        description="Show what the scaler would decide with other metric values or at another time. Nothing is written.",
        examples=[
            (
                "With 500 messages in the queue",
                "loadline-scaler simulate shop/worker --metric=queue=500",
            ),
            (
                "While a metric has failed, on another day, with 12 replicas",
                "loadline-scaler simulate shop/worker --metric=queue=fails --at=2026-11-27T08:00 --replicas=12",
            ),
        ],
        notes="Metrics that are not given are read from the metrics APIs. Use the algorithm flags of the running scaler.",
    )
    parser.add_argument("autoscaler", metavar="NAMESPACE/NAME", help="the autoscaler")
    add_simulation_flags(parser)
    parser.add_output()
    parser.add_argument(
        "--watch",
        choices=list(KINDS),
        default=LOAD_AUTOSCALERS.plural,
        metavar="KIND",
        help=f"kind of the autoscaler: {' or '.join(KINDS)}",
    )
    parser.add_file(
        "--kubeconfig",
        help="kubeconfig (default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    add_context_flags(parser)
    add_algorithm_flags(parser.group("algorithm"))
    return parser

"""PURE  What the forecast has learned in the days before, by the decisions of the scaler."""

import msgspec

from benchmarks.compressed_day.objects import WITH, autoscaler
from benchmarks.compressed_day.played_load import PlayedLoad
from benchmarks.traces.trace import STEP_SECONDS
from kubectl_loadline.backtest.loop import Decided, decisions
from kubectl_loadline.backtest.pods import SimulatedPods
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.readings import ExternalValues, MetricFailed, Reading
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler, AutoscalerSpec, MetricSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.digest import digest_of
from wire.api.meta import ObjectMeta

NO_SAMPLE = MetricFailed("no metrics returned from external metrics API")
DELAY_SECONDS = 60


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """The text for `status.history.forecast`, why the forecast may act or not, and the replicas of that moment."""

    digest: str
    reason: str
    replicas: int


def learned_days(load: PlayedLoad, start_up_seconds: float) -> Learned:
    """Replays what was before the played part. Raises ValueError if there is nothing."""
    manifest = autoscaler(WITH, load.per_replica)
    scaled = Autoscaler(
        metadata=ObjectMeta(name=WITH, namespace=manifest["metadata"]["namespace"]),
        spec=msgspec.convert(manifest["spec"], AutoscalerSpec),
    )
    trace = load.learned
    start = trace.start_unix_seconds
    pods = SimulatedPods(
        5, start_up_seconds=start_up_seconds, at_unix_seconds=start, spec=PodSpec()
    )

    def reading(_: MetricSpec, now: float) -> Reading:
        value = trace.at(now - DELAY_SECONDS)
        return NO_SAMPLE if value is None else ExternalValues((round(value * 1000),))

    settings = Settings(
        kind=LOAD_AUTOSCALERS, extensions=EXTENSIONS, sync_period_seconds=float(STEP_SECONDS)
    )
    times = range(start, start + STEP_SECONDS * len(trace.loads), STEP_SECONDS)
    last: Decided | None = None
    for each in decisions(scaled, settings, pods, reading, times):
        last = each
    if last is None or last.memory.states.get("forecast") is None:
        raise ValueError(f"there is nothing before the played part of {trace.name}")
    state = last.memory.states["forecast"].state
    return Learned(digest=digest_of(state), reason=state.verdict.reason, replicas=last.requested)

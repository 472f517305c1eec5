"""Decisions that take long are made in a thread: everything else that the event loop does goes on meanwhile.

The algorithm has no I/O, and changes nothing that it is given. One thread is enough: decisions in several would only
wait for each other, and the event loop for all of them.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from scaler.algorithm.decide import decide
from scaler.algorithm.decision import Decision
from scaler.algorithm.draft import Ask
from scaler.algorithm.observed import TargetPods
from scaler.algorithm.readings import ExternalValues, PodSamples, Reading
from scaler.cluster.work import count

# Containers of pods, once for each metric, and values of series. An HPA takes about 10 ms for so many; with the extensions
# of a LoadAutoscaler that decide several times, it is up to 50 ms.
VALUES_AT_ONCE_MAX: Final = 20_000

_thread: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decisions")


def is_large(pods: TargetPods, readings: Sequence[Reading]) -> bool:
    """Whether deciding would delay others."""
    containers = sum(1 + len(pod.spec.containers or ()) for pod in pods.pods)
    values = 0
    for each in readings:
        match each:
            case PodSamples():
                values += containers
            case ExternalValues(values_milli):
                values += len(values_milli)
    return values > VALUES_AT_ONCE_MAX


async def decided(
    ask: Ask, pods: TargetPods, readings: Sequence[Reading], now_unix_seconds: float
) -> Decision:
    """The decision, made here or in the thread."""
    if not is_large(pods, readings):
        return decide(ask, pods, readings, now_unix_seconds)

    def measured() -> tuple[Decision, float]:
        began_seconds = time.thread_time()
        decision = decide(ask, pods, readings, now_unix_seconds)
        return decision, time.thread_time() - began_seconds

    decision, seconds = await asyncio.get_running_loop().run_in_executor(_thread, measured)
    count(seconds)
    return decision

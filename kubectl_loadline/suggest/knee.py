"""How much load a full replica has, as far as it was recorded."""

from collections.abc import Iterable

from kubectl_loadline.backtest.recording import Recording

PERCENTILE = 0.95


def full_load(recording: Recording, name: str, times: Iterable[int]) -> float:
    """The 95th percentile of the load per ready replica. Raises ValueError if that was not recorded."""
    ready, series = recording.ready, recording.series[name]
    loads = sorted(
        value / count
        for now in times
        if (value := series.at(now)) is not None and ready is not None and (count := ready.at(now))
    )
    if not loads or loads[-1] <= 0:
        raise ValueError(
            f"the number of ready replicas was not recorded together with {name}: set the query with "
            f"--query ready_replicas=PROMQL, or the load of a full replica with --capacity {name}=QUANTITY"
        )
    return loads[min(len(loads) - 1, int(len(loads) * PERCENTILE))] or loads[-1]

"""Reads what is wanted from Prometheus, and makes a recording of samples."""

from collections.abc import Mapping

import msgspec

from kubectl_loadline.backtest.recording import READY_REPLICAS, REPLICAS, Recording
from kubectl_loadline.backtest.series import series_of
from kubectl_loadline.recorded_series.files import Samples, UnusableSeries
from kubectl_loadline.recorded_series.prometheus import SeriesClient, TimeSpan
from kubectl_loadline.recorded_series.queries import Selected
from kubectl_loadline.terminal.progress import shown_progress


class FoundSamples(msgspec.Struct, frozen=True):
    """By the name of a metric; without those that have no samples."""

    samples: dict[str, Samples] = {}
    queries: dict[str, Selected] = {}
    """The first alternative that had samples."""

    @property
    def sources(self) -> dict[str, str]:
        """The queries in words."""
        return {name: _in_words(query) for name, query in self.queries.items()}


def read_samples(
    client: SeriesClient, wanted: Mapping[str, tuple[Selected, ...]], span: TimeSpan
) -> FoundSamples:
    """Of the first alternative of each that has samples, with a line that shows the progress. Raises `SeriesUnavailable`."""
    found = FoundSamples()
    with shown_progress() as progress:
        for name, alternatives in wanted.items():
            if first := client.first_samples(name, alternatives, span, progress):
                found.queries[name], found.samples[name] = first
    return found


def recording_of(
    samples: Mapping[str, Samples], sources: Mapping[str, str], step_seconds: int, *, expected: str
) -> Recording:
    """Raises `UnusableSeries` if only replicas have samples; `expected` says of what else they should be."""
    series = {name: series_of(rows, step_seconds) for name, rows in samples.items() if rows}
    if set(series) <= {REPLICAS, READY_REPLICAS}:
        raise UnusableSeries(f"the history has no sample of {expected}")
    return Recording(step_seconds=step_seconds, series=series, sources=sources)


def _in_words(query: Selected) -> str:
    if not query.where:
        return query.promql
    where = ", ".join(f'{name}=~"{text}"' for name, text in query.where.items())
    return f"{query.promql}, the rows with {where}"

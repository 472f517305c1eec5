"""The usage of pods, as one response has it: a reading for each resource and container that a metric wants."""

from collections.abc import Sequence

from scaler.algorithm import samples
from scaler.algorithm.readings import Reading
from scaler.cluster.metrics.response_parts import reading_of
from wire.api.resource_metrics import PodMetricsList


class PodUsage:
    """One response. It keeps its readings, which metrics and autoscalers share; the decisions keep the same objects."""

    def __init__(self, parts: Sequence[PodMetricsList]) -> None:
        """`parts`: the response, in several lists if it is large."""
        self.pods = sum(len(part.items) for part in parts)
        self._parts = parts
        self._readings: dict[tuple[str, str], Reading] = {}

    async def read(self, resource: str, container: str) -> Reading:
        """The usage of one resource by pod: of all containers together, or of the one that is named."""
        reading = self._readings.get((resource, container))
        if reading is None:
            reading = self._readings[resource, container] = await reading_of(
                self._parts,
                lambda part: samples.resource_samples(part, resource=resource, container=container),
            )
        return reading

    def known(self, resource: str, container: str) -> Reading | None:
        """The same, if it was read before."""
        return self._readings.get((resource, container))

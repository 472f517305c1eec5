"""PURE  what happened to the replicas: how often up, how often down, how far, and whether that is a success."""

import msgspec

from testbed.demo.plan import Workload


class Story(msgspec.Struct, kw_only=True):
    """Replicas of one workload over time, as seen."""

    workload: Workload
    peak_load: float = 0.0
    lowest: int = 0
    highest: int = 0
    last: int = 0
    ups: int = 0
    downs: int = 0

    def saw(self, *, replicas: int, load: float) -> None:
        """One more look."""
        self.peak_load = max(self.peak_load, load)
        if not self.last:
            self.lowest = self.highest = replicas
        else:
            self.ups += replicas > self.last
            self.downs += replicas < self.last
        self.lowest = min(self.lowest, replicas)
        self.highest = max(self.highest, replicas)
        self.last = replicas

    @property
    def came_back(self) -> bool:
        """Up under load, and down again to at most half of the way."""
        return self.ups > 0 and self.downs > 0 and self.last <= (self.lowest + self.highest) / 2

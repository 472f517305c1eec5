"""PURE  Counts of scale-ups and scale-downs of a workload, its replica range, and whether that is a success."""

import msgspec

from testbed.demo.load_plan import Workload


class ReplicaSummary(msgspec.Struct, kw_only=True):
    """The observed replicas of one workload over time."""

    workload: Workload
    peak_load: float = 0.0
    lowest: int = 0
    highest: int = 0
    last: int = 0
    ups: int = 0
    downs: int = 0

    def record(self, *, replicas: int, load: float) -> None:
        """Add one observation."""
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
    def scaled_up_and_down(self) -> bool:
        """Scaled up, and back down at least half of the way."""
        return self.ups > 0 and self.downs > 0 and self.last <= (self.lowest + self.highest) / 2

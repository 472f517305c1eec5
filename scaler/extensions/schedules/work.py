"""The work that one evaluation of the schedules of an autoscaler may do.

It is counted, not measured, so that an evaluation has the same result on every machine. What the work of one evaluation
does not suffice for is continued by the next one, so that no object can hold up the reconciles of others.
"""

# About 5 µs each on a processor without other work, up to 10 on a busy one, and the last step of an evaluation may take up to 100
# more than are left: about 2.5 ms for the worst objects, and below 5 ms on a busy processor. Not less than 250: starts of 1,000
# entries would be searched for longer than an hour. Ten schedules with a calendar of 40 yearly dates need less than this for all
# of it, and a calendar of 100 dates needs two evaluations. The benchmark `schedules` measures both.
UNITS_MAX = 400


class Work:
    """What is left of it."""

    __slots__ = ("_years", "left")

    def __init__(self, units: int = UNITS_MAX) -> None:
        self.left = units
        self._years: set[tuple[int, int]] = set()

    def spend(self, units: int) -> None:
        """Count work that is done. It may be more than is left: a single step is not divided."""
        self.left -= units

    def spend_on_year(self, days: object, year: int, units: int) -> None:
        """Count the computation of the days of a year once, however often a search returns to them."""
        if (id(days), year) not in self._years:
            self._years.add((id(days), year))
            self.left -= units

    @property
    def is_used_up(self) -> bool:
        """Whether the rest must wait for the next evaluation."""
        return self.left <= 0

"""What happens on the way to an answer, told to whoever wants to know: `explain` does, an autoscaler does not.

The answering path is written once; it tells each step here as it takes it.
"""

from collections.abc import Sequence

from adapter.model import (
    Evaluation,
    ExternalValue,
    ObjectValue,
    Offer,
    Plan,
    Question,
    Rows,
    UsageQuestion,
    UsageValue,
)


class Notes:
    """Listens to nothing; override what is of interest. Each method is called when its step has succeeded."""

    def chose(self, offer: Offer) -> None:
        """A rule serves the metric."""

    def matched(self, names: Sequence[str]) -> None:
        """The objects that are asked for, none when nothing matched."""

    def asks(self, question: Question | UsageQuestion) -> None:
        """What Prometheus is about to be asked."""

    def heard(self, plan: Plan, rows: Rows, evaluation: Evaluation) -> None:
        """What Prometheus answered, and which rows of it count."""

    def answers(self, values: Sequence[ObjectValue | ExternalValue | UsageValue]) -> None:
        """The values that go into the document."""


SILENT = Notes()

"""Where ours differs on purpose: each row of docs/deviations.md that a request can show, by name and as a predicate."""

from collections.abc import Sequence

from testbed.differential.adapter.comparison import Seen
from testbed.differential.adapter.questions import Question


def explain(question: Question, theirs: Seen, ours: Seen, differences: Sequence[str]) -> str | None:
    """The name of the deviation that explains all of the difference, None when nobody meant it."""
    return None

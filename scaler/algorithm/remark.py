"""What a field that only a LoadAutoscaler has did to a decision, in words."""

import msgspec


class Remark(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One such field: a condition, a line of `why`, and a part of the column HELD.

    `message` is the text of the condition. It must stay the same while the situation does, because every change is
    a write of the status. `detail` may change at every reconcile; only `why` prints it.
    """

    condition: str
    active: bool
    reason: str
    message: str
    detail: str = ""
    holds: bool = False
    """Whether the field changed the replica count of this decision."""

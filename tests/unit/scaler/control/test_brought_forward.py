"""Which reconciles count as brought forward: all others begin a period."""

import pytest

from tests.unit.scaler.control.test_workqueue import in_phase


@pytest.mark.parametrize(
    ("changed_at_seconds", "is_also_due", "expected"),
    [
        pytest.param(20.0, False, True, id="within the period"),
        pytest.param(20.0, True, False, id="and the spec has changed"),
        pytest.param(29.9, False, False, id="in place of the regular one"),
        pytest.param(30.0, False, False, id="with the regular one"),
    ],
)
def test_a_reconcile_is_brought_forward_only_if_nothing_else_makes_it_due(
    changed_at_seconds, is_also_due, expected
):
    queue = in_phase(changed_at_seconds)
    queue.bring_forward("ns/a", changed_at_seconds)
    if is_also_due:
        queue.make_due("ns/a", changed_at_seconds)
    queue.get(changed_at_seconds)
    assert queue.is_brought_forward("ns/a") is expected
    queue.done("ns/a", changed_at_seconds + 0.1, requeue=True)
    queue.get(queue.next_due_seconds)
    assert not queue.is_brought_forward("ns/a")

"""What the page has seen itself is bounded, and only changes are kept."""

from kubectl_loadline.page.collected import KEPT_SECONDS, POINTS_MAX, Collected
from kubectl_loadline.status.row import Row


def row(current):
    return Row(kind="la", namespace="shop", name="web", target="Deployment/web", min=1, max=9, current=current, desired=current)  # fmt: skip


def test_only_changes_are_kept():
    collected = Collected(0.0)
    for at, current in ((1.0, 3), (2.0, 3), (3.0, 4)):
        collected.note(row(current), at)
    found = [(each.since_unix_seconds, each.counts.current) for each in collected.of("la/shop/web")]
    assert found == [(1.0, 3), (3.0, 4)]


def test_what_held_at_the_beginning_of_the_last_hour_is_kept_and_what_was_before_is_not():
    collected = Collected(0.0)
    for at, current in ((1.0, 3), (2.0, 4), (3.0 + KEPT_SECONDS, 5)):
        collected.note(row(current), at)
    assert [each.counts.current for each in collected.of("la/shop/web")] == [4, 5]


def test_an_autoscaler_that_changes_all_the_time_has_a_bounded_number_of_points():
    collected = Collected(0.0)
    for current in range(3 * POINTS_MAX):
        collected.note(row(current), float(current))
    assert len(collected.of("la/shop/web")) == POINTS_MAX


def test_a_deleted_autoscaler_is_forgotten():
    collected = Collected(0.0)
    collected.note(row(3), 1.0)
    collected.forget("la/shop/web")
    collected.forget("la/shop/web")
    assert collected.of("la/shop/web") == ()

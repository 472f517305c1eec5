"""All invariants, in the order in which they are checked."""

from collections.abc import Callable, Iterator
from typing import Final

from tests.simulation.activity_invariants import (
    zero_after_cooldown,
    zero_left_for_load,
    zero_reached,
    zero_without_load,
)
from tests.simulation.adapter_invariants import (
    queries_are_shared,
    rights_are_respected,
    values_are_fresh,
    values_are_true,
)
from tests.simulation.budget_invariants import within_budgets
from tests.simulation.candidate_invariants import candidate_stays_aborted
from tests.simulation.end_invariants import where_undisturbed
from tests.simulation.field_invariants import (
    dry_run,
    forecast_acts_only_with_mode_and_trust,
    forecast_only_adds,
    held_in_rollout,
    suspended,
)
from tests.simulation.good_values import on_good_values
from tests.simulation.history_invariants import no_budget_twice, stabilized
from tests.simulation.invariants import (
    Run,
    Violation,
    no_tracebacks,
    one_autoscaler,
    one_writer,
    within_bounds,
)
from tests.simulation.liveness_invariants import reconciled_in_every_period
from tests.simulation.memory_invariants import (
    as_after_a_restart,
    loss_reported,
    memory_kept,
    memory_stored,
    memory_within_limit,
    only_status_written,
)
from tests.simulation.schedule_invariants import schedule_applied
from tests.simulation.shard_invariants import taken_over, written_once
from tests.simulation.stream_invariants import streams_are_acted_on
from tests.simulation.write_oracle import acted_on, explained

INVARIANTS: Final[tuple[Callable[[Run], Iterator[Violation]], ...]] = (
    within_bounds,
    one_writer,
    one_autoscaler,
    on_good_values,
    no_tracebacks,
    within_budgets,
    reconciled_in_every_period,
    stabilized,
    no_budget_twice,
    where_undisturbed,
    dry_run,
    suspended,
    zero_after_cooldown,
    zero_without_load,
    zero_left_for_load,
    zero_reached,
    held_in_rollout,
    forecast_only_adds,
    forecast_acts_only_with_mode_and_trust,
    candidate_stays_aborted,
    taken_over,
    written_once,
    only_status_written,
    memory_within_limit,
    memory_kept,
    loss_reported,
    as_after_a_restart,
    memory_stored,
    schedule_applied,
    explained,
    acted_on,
    values_are_true,
    values_are_fresh,
    rights_are_respected,
    queries_are_shared,
    streams_are_acted_on,
)

"""The forecast as an extension: it lifts what stabilization leaves, within what `behavior` and the bounds allow."""

from collections.abc import Sequence
from typing import Any

import msgspec

from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Gauge, Given
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import AutoscalerStatus, ConditionType
from scaler.api.forecast import ForecastDay, ForecastStatus
from scaler.extensions.forecast.digest import restored
from scaler.extensions.forecast.floor import Floor, lifted
from scaler.extensions.forecast.foresee import (
    SECONDS_PER_MINUTE,
    acting_floor,
    foresee,
    new_forecast,
    remembered,
)
from scaler.extensions.forecast.load import load_of
from scaler.extensions.forecast.rules import ForecastRules, forecast_rules
from scaler.extensions.forecast.sentences import (
    forecast_remark,
    forecast_sentence,
    learned_event,
    verdict_events,
)
from scaler.extensions.forecast.state import ForecastMemory, ForecastStep, Load, moved
from scaler.extensions.forecast.warm_start import learning_text, warm_started

FORECAST = "forecast"


class Forecasting(Extension[ForecastRules, ForecastMemory]):
    """Its input is a `WarmStart`: what became of the recorded load."""

    name = FORECAST
    conditions = (ConditionType.FORECAST_RELIABLE,)
    stored_as = "forecast"
    stored_beside = True
    state_type = str
    step_type = ForecastStep
    gauges = (
        Gauge(
            "forecast_replicas",
            "Replicas with the forecast of the last decision, also in a dry run.",
            lambda step: None if step.floor is None else step.after,
        ),
        Gauge(
            "forecast_added_replicas",
            "Replicas that only the forecast of the last decision wants, also in a dry run.",
            lambda step: None if step.floor is None else step.after - step.before,
        ),
        Gauge(
            "forecast_alone_replica_minutes",
            "Replica-minutes of the last 24 hours without the forecast.",
            lambda step: step.day.alone,
        ),
        Gauge(
            "forecast_added_replica_minutes",
            "Replica-minutes of the last 24 hours that the forecast added, or would have added.",
            lambda step: step.day.added,
        ),
        Gauge(
            "forecast_needed_replica_minutes",
            "Added replica-minutes of the last 24 hours that the load needed.",
            lambda step: step.day.useful,
        ),
    )

    def rules(self, given: Given, policy: Policy) -> ForecastRules | None:
        """None without the field, and if the mode is Off."""
        field = given.spec.forecast
        return None if field is None else forecast_rules(given.spec, field)

    def begin(
        self,
        rules: ForecastRules,
        state: ForecastMemory | None,
        turn: Turn,
        known_replicas: tuple[int, ...] | None,
    ) -> ForecastMemory | None:
        """Of another metric or lead, everything is learned again. A mistake in the spec does not forget anything."""
        if rules.problem:
            return state
        if state is None or state.state.identity != rules.identity:
            return ForecastMemory(state=new_forecast(rules))
        return state

    def remark(
        self, rules: ForecastRules, state: ForecastMemory | None, turn: Turn
    ) -> Remark | None:
        """The condition ForecastReliable of the last reconcile."""
        if state is None:
            return forecast_remark(rules, None)
        learning = learning_text(state.state, turn.inputs.get(self.name))
        return forecast_remark(rules, state.state.verdict, learning=learning)

    def stabilized(self, rules: ForecastRules, draft: Draft) -> None:
        """Learn, and add what is expected to be needed."""
        known: ForecastMemory | None = draft.states.get(self.name)
        if rules.problem or known is None:
            return
        turn, policy = draft.turn, draft.turn.policy
        now = turn.moment.now_unix_seconds
        turn.moment.holds_until((now // SECONDS_PER_MINUTE + 1) * SECONDS_PER_MINUTE)
        warm_start = turn.inputs.get(self.name)
        state = warm_started(known.state, rules, policy, warm_start, now)
        found = foresee(rules, policy, state, _load(rules, draft), now)
        before = known if state is known.state else ForecastMemory(state=state, digest=known.digest)
        memory, step = remembered(
            found,
            rules,
            policy,
            before,
            stabilized=draft.replicas,
            others=_highest_of_others(rules, draft),
        )
        draft.states[self.name], draft.steps[self.name] = memory, step
        learning = learning_text(memory.state, warm_start)
        draft.add(forecast_remark(rules, step.verdict, step, learning=learning))
        if state is not known.state and state.recorded is not None:
            draft.events.append(learned_event(rules, state, state.recorded))
        draft.events += verdict_events(state.verdict, step.verdict)
        draft.replicas = lifted(draft.replicas, acting_floor(found, rules), policy.min_replicas)
        if step.acts and step.after > step.before:
            draft.scale_up_reason = f"forecast of {rules.metric}"

    def disabled(self, state: ForecastMemory) -> ForecastMemory:
        """What was learned lasts."""
        return state

    def for_other_policy(self, draft: Draft) -> Extension[Any, Any] | None:
        """The same load: it is learned once."""
        step: ForecastStep | None = draft.steps.get(self.name)
        if step is None or not step.acts or step.floor is None:
            return None
        rules: ForecastRules = draft.turn.policy.rules[self.name]
        load = _load(rules, draft)
        return None if load is None else ForecastFloor(rules, step, step.floor, load)

    def status(
        self,
        rules: ForecastRules,
        step: ForecastStep | None,
        policy: Policy,
        status: AutoscalerStatus,
    ) -> AutoscalerStatus:
        """`status.forecast`."""
        if step is None:
            return status
        day = step.day
        return msgspec.structs.replace(
            status,
            forecast=ForecastStatus(
                replicas=None if step.floor is None else step.after,
                added_replicas=step.after - step.before,
                last_24_hours=ForecastDay(
                    alone_replica_minutes=round(day.alone),
                    added_replica_minutes=round(day.added),
                    needed_replica_minutes=round(day.useful),
                ),
            ),
        )

    def sentence(self, step: ForecastStep, now_unix_seconds: float) -> str:
        """What is expected, and what that adds."""
        return forecast_sentence(step)

    def stored(self, state: ForecastMemory) -> str | None:
        """The digest."""
        return state.digest or None

    def shifted(self, state: ForecastMemory, seconds: float) -> ForecastMemory:
        """A forecast has whole minutes."""
        minutes = round(seconds / SECONDS_PER_MINUTE)
        if not minutes:
            return state
        return ForecastMemory(state=moved(state.state, minutes), digest=state.digest)

    def restored(self, stored: str, now_unix_seconds: float) -> ForecastMemory | None:
        """None for a digest of another version, or of the far future."""
        state = restored(stored, int(now_unix_seconds // SECONDS_PER_MINUTE))
        return None if state is None else ForecastMemory(state=state, digest=stored)


class ForecastFloor(Extension[bool, None]):
    """The floor of a forecast, for another policy of the same autoscaler, which may have another target of the same metric."""

    name = FORECAST

    def __init__(
        self, rules: ForecastRules, step: ForecastStep, replicas: int, load_of_spec: Load
    ) -> None:
        self._rules, self._step, self._replicas, self._of_spec = rules, step, replicas, load_of_spec

    def stabilized(self, rules: bool, draft: Draft) -> None:
        """As the forecast."""
        own = _load(self._rules, draft) or self._of_spec
        ratio = self._of_spec.per_replica / own.per_replica
        floor = Floor(
            needed=self._replicas * ratio,
            present=self._step.present * ratio,
            allowed_extra=self._step.allowed_extra,
            extra_ratio=self._rules.extra_ratio,
        )
        draft.replicas = lifted(draft.replicas, floor, draft.turn.policy.min_replicas)


def _load(rules: ForecastRules, draft: Draft) -> Load | None:
    recommended = draft.recommended
    for signal, proposal in zip(
        draft.signals, () if recommended is None else recommended.proposals, strict=True
    ):
        if signal.metric.name == rules.metric:
            return load_of(signal.metric, signal.reading, proposal.derivation, draft.workload)
    return None


def _highest_of_others(rules: ForecastRules, draft: Draft) -> int:
    """The highest proposal of the metrics that are not forecast."""
    recommended = draft.recommended
    proposals: Sequence[Any] = () if recommended is None else recommended.proposals
    return max(
        (
            proposal.derivation.proposal or 0
            for signal, proposal in zip(draft.signals, proposals, strict=True)
            if signal.metric.name != rules.metric
        ),
        default=0,
    )

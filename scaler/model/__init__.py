"""The words of the scaler: what is observed, measured, remembered, decided. Pure; imports only `wire`.

`autoscaler` the object itself; `observed` scale and pods; `readings` what was measured; `memory` what is
kept between looks; `settings` flags; `decision` and `derivation` what came out and how.

One look of the shell, with `now` in Unix seconds:

1. read the scale: `Observed(autoscaler=..., scale=ScaleView | ScaleUnavailable)`;
2. when `recommend.branch.wants_metrics(observed, settings)`: list the pods by
   `recommend.selector.target_selector(scale)` and find out who else controls them, put both into
   `Observed`; when `recommend.selector.selector_problem(observed)` is None, make one `Reading` per metric;
3. `scaler.decide.decide(observed, readings, memory, settings, now) -> Decision`;
4. when `decision.rescale`: write `decision.desired_replicas` to the scale;
5. `scaler.settle.settle(decision, actuation, now) -> Outcome`: emit `events`, write `status` when
   `status_changed`, emit `events_after_status`, keep `memory`.
"""

"""The scaler's data types. Pure; imports only `wire`.

`autoscaler` is the object itself, `kinds` which of the two kinds it is, `settings` the flags, `policy` what
applies to one autoscaler now. `observed` holds scale and pods, `readings` what was measured, `memory` what is
kept between reconciles. `decision` and `derivation` are the result, and how it was computed.

One reconcile, with `now` in Unix seconds:

1. read the scale: `Observed(autoscaler, scale, rivals)`;
2. `plan.plan(observed, memory, settings, now) -> Ask | Decision`;
3. after an `Ask`: list the pods that its selector matches, read its metrics, and
   `decide.decide(ask, pods, readings, now) -> Decision`;
4. when `decision.rescale`: write `decision.desired_replicas` to the scale;
5. `settle.settle(decision, actuation, now) -> Outcome`: emit `events`, write `status` when
   `status_changed`, emit `events_after_status`, keep `memory`.
"""

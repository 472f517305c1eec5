------------------------------- MODULE Traces -------------------------------
(* The model with the name of the last action, for recording what the real *)
(* code is compared with. `did` is its name, the replica, and its choice.  *)
EXTENDS Shards
CONSTANT Faults  \* those that may happen, by their names; any if there are none
VARIABLE did

Allowed(name) == Faults = {} \/ name \in Faults

Did(name, r) == did' = <<name, r>>
DidOf(name, r, s) == did' = <<name, r, s>>

TraceNext == \E r \in Replicas:
    \/ _joined(r) /\ Did("_joined", r)
    \/ Allowed("_joined_unanswered") /\ _joined_unanswered(r) /\ Did("_joined_unanswered", r)
    \/ _once(r) /\ Did("_once", r)
    \/ _release_members(r) /\ Did("_release_members", r)
    \/ _give_up(r) /\ Did("_give_up", r)
    \/ Allowed("_give_up_unstored") /\ _give_up_unstored(r) /\ Did("_give_up_unstored", r)
    \/ Allowed("_give_up_unreleased") /\ _give_up_unreleased(r) /\ Did("_give_up_unreleased", r)
    \/ _claim(r) /\ Did("_claim", r)
    \/ claim_arrives(r) /\ Did("claim_arrives", r)
    \/ Allowed("_renew_fails") /\ _renew_fails(r) /\ Did("_renew_fails", r)
    \/ lead(r) /\ Did("lead", r)
    \/ Allowed("stop") /\ stop(r) /\ Did("stop", r)
    \/ stopped(r) /\ Did("stopped", r)
    \/ Allowed("crash") /\ crash(r) /\ Did("crash", r)
    \/ dropped(r) /\ Did("dropped", r)
    \/ \E s \in Shards: Allowed("_claim_unanswered") /\ _claim_unanswered(r, s) /\ DidOf("_claim_unanswered", r, s)
    \/ \E s \in Shards: Allowed("_claim_late") /\ _claim_late(r, s) /\ DidOf("_claim_late", r, s)
    \/ \E s \in Scaled:
        \/ rescale(r, s) /\ DidOf("rescale", r, s)
        \/ scaled(r, s) /\ DidOf("scaled", r, s)
        \/ Allowed("rescale_unanswered") /\ rescale_unanswered(r, s) /\ DidOf("rescale_unanswered", r, s)
        \/ flush(r, s) /\ DidOf("flush", r, s)
        \/ stored(r, s) /\ DidOf("stored", r, s)
        \/ Allowed("store_unanswered") /\ store_unanswered(r, s) /\ DidOf("store_unanswered", r, s)
        \/ \E recommended \in {Low, High}: \E until \in ended..clock:
            reconcile(r, s, recommended, until) /\ did' = <<"reconcile", r, s, recommended, until>>

TraceInit == Init /\ did = <<>>
Recorded == TraceInit /\ [][TraceNext]_<<vars, did>>
=============================================================================

------------------------------- MODULE Shards -------------------------------
(***************************************************************************)
(* How replicas of the scaler share the shards, scale, and hand over what  *)
(* they remember. Actions have the names of the functions that they model. *)
(*                                                                         *)
(* Time. Nothing here counts seconds. `valid[r]` is TRUE until the renew   *)
(* deadline of r has passed by its own clock. A Lease that is not renewed  *)
(* may be seen as expired by any `_once`. Windows are counted in           *)
(* reconciles: the one with the number t is made at time t, and the        *)
(* windows of all reconciles until `ended` have ended.                     *)
(*                                                                         *)
(* Assumptions: a replica is past its own renew deadline before another    *)
(* one sees its Lease as expired; a write of a scale or of a memory that   *)
(* was sent before that deadline is carried out before that moment or not  *)
(* at all; wall clocks agree.                                              *)
(*                                                                         *)
(* An optimistic lock is a set: a replica that writes a Lease removes it   *)
(* from what the others are about to write by an older version.            *)
(***************************************************************************)
EXTENDS Naturals, Sequences, TLC

CONSTANTS
    Replicas,
    Numbers,        \* of members
    Shards,
    Scaled,         \* the shards with an autoscaler
    ReconcilesMax,
    FaultsMax,      \* crashes, stops, lost requests and responses, missed deadlines
    Without         \* the rules that are switched off, to show that they are needed

\* Of two of the 64 shards: the numbers of the members, the one that should own it first (`owner_of` in assignment.py).
Rank == [s \in {5, 53} |-> IF s = 5 THEN <<2, 1, 0, 3, 4>> ELSE <<0, 1, 2, 3, 4>>]

VARIABLES
    \* The API server.
    member,         \* of each number: who holds the Lease of this member
    shard,          \* of each shard: who holds its Lease
    replicas,       \* of each autoscaler: what its target has
    memory,         \* of each autoscaler: its stored history
    \* Each replica.
    pc, identity, number, valid, owned, todo, terms, known, problem,
    \* Requests.
    scaling, storing, late,
    \* Time, and what must not happen.
    clock, ended, faults, must, wrong

server == <<member, shard, replicas, memory>>
replica == <<pc, identity, number, valid, owned, todo, terms, known, problem>>
requests == <<scaling, storing, late>>
vars == <<server, replica, requests, clock, ended, faults, must, wrong>>

Has(rule) == rule \notin Without

Free == <<>>
Id(r) == <<r, identity[r]>>
Low == 1
High == 2

\* A history: the number of the newest High recommendation (0: none), the last recommendation and its number, and the replicas.
History == [high: 0..ReconcilesMax, last: {Low, High}, at: 0..ReconcilesMax, replicas: {Low, High}]
Nothing == [high |-> 0, last |-> Low, at |-> 0, replicas |-> 0]

\* What a replica knows of an autoscaler: `is` none, unread, kept, or left (kept from before it lost its Lease). `at` and `count`
\* are of the last reconcile. `put` is what is stored, or will be.
Unknown == [is |-> "none", high |-> 0, last |-> Low, at |-> 0, count |-> 0, put |-> Nothing, dirty |-> FALSE]
Knows(of) == of.is \in {"kept", "left"}
Unread == [Unknown EXCEPT !.is = "unread"]

NoScaling == [is |-> "none"]
NoStoring == [is |-> "none"]
Idle == [members |-> {}, end |-> {}, release |-> {}, claim |-> {}]

Held == {n \in Numbers: member[n] # Free}
OwnerOf(s) == LET first == CHOOSE i \in DOMAIN Rank[s]:
                               /\ Rank[s][i] \in Held
                               /\ \A j \in 1..(i - 1): Rank[s][j] \notin Held
              IN Rank[s][first]

Sharing == {"following", "freeing", "ending", "claiming"}
IsMember(r) == pc[r] \in Sharing
MayWrite(r, s) == Has("fence") => s \in owned[r] /\ valid[r]
Owns(r, s) == s \in owned[r] /\ valid[r] /\ shard[s] = Id(r)
Renews(n) == LET r == member[n][1] IN
             /\ (IsMember(r) \/ pc[r] = "stopping")
             /\ member[n] = Id(r) /\ number[r] = n /\ valid[r]

Max(a, b) == IF a > b THEN a ELSE b
Fault == faults < FaultsMax /\ faults' = faults + 1

Init ==
    /\ member = [n \in Numbers |-> Free]
    /\ shard = [s \in Shards |-> Free]
    /\ replicas = [s \in Scaled |-> Low]
    /\ memory = [s \in Scaled |-> Nothing]
    /\ pc = [r \in Replicas |-> "joining"]
    /\ identity = [r \in Replicas |-> 1]
    /\ number = [r \in Replicas |-> 0]
    /\ valid = [r \in Replicas |-> FALSE]
    /\ owned = [r \in Replicas |-> {}]
    /\ todo = [r \in Replicas |-> Idle]
    /\ terms = [r \in Replicas |-> {}]
    /\ known = [r \in Replicas |-> [s \in Scaled |-> Unknown]]
    /\ problem = [r \in Replicas |-> FALSE]
    /\ scaling = [r \in Replicas |-> [s \in Scaled |-> NoScaling]]
    /\ storing = [r \in Replicas |-> [s \in Scaled |-> NoStoring]]
    /\ late = [r \in Replicas |-> Free]
    /\ clock = 0 /\ ended = 0 /\ faults = 0
    /\ must = [s \in Scaled |-> 0]
    /\ wrong = {}

-----------------------------------------------------------------------------
(* Optimistic locks.                                                       *)

\* What the others are about to write, after r has written the Leases of these members.
AfterMembers(r, numbers, mine) ==
    todo' = [q \in Replicas |-> IF q = r THEN mine ELSE [todo[q] EXCEPT !.members = @ \ numbers]]

\* The same for shards. A claim that is still on its way conflicts, too, also if r has sent it.
AfterShards(r, shards, mine) ==
    IF Has("versions")
    THEN /\ todo' = [q \in Replicas |-> IF q = r THEN mine
                     ELSE [todo[q] EXCEPT !.release = @ \ shards, !.claim = @ \ shards]]
         /\ late' = [q \in Replicas |-> IF late[q] # Free /\ late[q][1] \in shards THEN Free ELSE late[q]]
    ELSE /\ todo' = [todo EXCEPT ![r] = mine]
         /\ UNCHANGED late

-----------------------------------------------------------------------------
(* scaler/cluster/shards/membership.py and leader_election.py              *)

FirstFree == CHOOSE n \in Numbers \ Held: \A m \in Numbers \ Held: n <= m

\* The number that r holds without knowing it, because a response was lost.
Own(r) == {n \in Numbers: member[n] = Id(r)}
Chosen(r) == IF Own(r) # {} THEN CHOOSE n \in Own(r): TRUE ELSE FirstFree
MayJoin(r) == pc[r] = "joining" /\ (Own(r) # {} \/ Held # Numbers)

\* The Lease of the first free member is acquired. (LeaderElection reads it again and writes it with its version.)
_joined(r) ==
    /\ MayJoin(r)
    /\ member' = [member EXCEPT ![Chosen(r)] = Id(r)]
    /\ number' = [number EXCEPT ![r] = Chosen(r)]
    /\ valid' = [valid EXCEPT ![r] = TRUE]
    /\ pc' = [pc EXCEPT ![r] = "following"]
    /\ AfterMembers(r, {Chosen(r)}, Idle)
    /\ UNCHANGED <<shard, replicas, memory, identity, owned, terms, known, problem, requests, clock, ended, faults, must, wrong>>

\* It holds the Lease without knowing it, and finds it in the next LIST.
_joined_unanswered(r) ==
    /\ MayJoin(r) /\ Own(r) = {} /\ Fault
    /\ member' = [member EXCEPT ![FirstFree] = Id(r)]
    /\ AfterMembers(r, {FirstFree}, Idle)
    /\ UNCHANGED <<shard, replicas, memory, pc, identity, number, valid, owned, terms, known, problem, requests, clock, ended, must, wrong>>

\* Its Lease may be seen as expired: it is not renewed, and what its holder has sent has been carried out or is lost.
IsExpired(n) ==
    /\ Has("expiry") => ~Renews(n)
    /\ Has("requests end") => \A s \in Scaled:
            /\ LET sent == scaling[member[n][1]][s] IN sent.is = "sent" => sent.by # member[n]
            /\ LET sent == storing[member[n][1]][s] IN sent.is = "sent" => sent.by # member[n]

\* This process has held it under a former identity, whose work has ended.
IsPast(r, n) == member[n][1] = r /\ member[n][2] < identity[r]

\* One LIST, and what follows from it.
_once(r) ==
    LET gone == {n \in Held: IsExpired(n) \/ IsPast(r, n)}
        wanted == {s \in Shards: OwnerOf(s) = number[r]}
        strays == {s \in Shards \ wanted: shard[s] = Id(r) /\ s \notin owned[r]}
        others == {member[n]: n \in Held} \ {Id(r)}
        plan == [members |-> {},
                 end |-> owned[r] \ wanted,
                 release |-> IF Has("strays") THEN strays ELSE {},
                 claim |-> {s \in wanted \ owned[r]: shard[s] \notin others}]
    IN
    /\ pc[r] = "following" /\ valid[r]
    /\ \/ /\ gone # {} /\ Has("members")
          /\ todo' = [todo EXCEPT ![r] = [Idle EXCEPT !.members = gone]]
          /\ pc' = [pc EXCEPT ![r] = "freeing"]
       \/ /\ \A n \in Held: ~IsPast(r, n)
          /\ member[number[r]] = Id(r)
          /\ plan # Idle
          /\ todo' = [todo EXCEPT ![r] = plan]
          /\ pc' = [pc EXCEPT ![r] = IF plan.end \cup plan.release # {} THEN "ending" ELSE "claiming"]
    /\ UNCHANGED <<server, requests, identity, number, valid, owned, terms, known, problem, clock, ended, faults, must, wrong>>

\* Membership._release, of members that are gone. Then the Leases are listed again.
_release_members(r) ==
    LET numbers == todo[r].members IN
    /\ pc[r] = "freeing"
    /\ member' = [n \in Numbers |-> IF n \in numbers THEN Free ELSE member[n]]
    /\ AfterMembers(r, numbers, Idle)
    /\ pc' = [pc EXCEPT ![r] = "following"]
    /\ UNCHANGED <<shard, replicas, memory, requests, identity, number, valid, owned, terms, known, problem, clock, ended, faults, must, wrong>>

IsDrained(r, shards) == Has("drain") => \A s \in shards \cap Scaled: scaling[r][s] = NoScaling
\* Nothing of it is left to be written. A flush writes whatever has changed, also of shards that are kept.
IsStored(r) == \A s \in Scaled: storing[r][s] = NoStoring /\ (known[r][s].dirty => ~valid[r])

\* What an owner knew that stored it and gave it up. It must not be forgotten.
Passed(r, shards) == [s \in Scaled |-> IF s \in shards /\ Knows(known[r][s]) /\ valid[r]
                                       THEN Max(must[s], known[r][s].high) ELSE must[s]]

\* What r does not own any more is forgotten, and `released` of it is released: of what was owned by the version that its
\* claim was answered with, so only if no other one has claimed it since.
Given(r, released) ==
    LET given == todo[r].end
        free == {s \in given: shard[s] = Id(r) \/ ~Has("versions")} \cup todo[r].release
        shards == IF released THEN free ELSE {}
    IN
    /\ known' = [known EXCEPT ![r] = [s \in Scaled |-> IF s \in given THEN Unknown ELSE @[s]]]
    /\ scaling' = [scaling EXCEPT ![r] = [s \in Scaled |-> IF s \in given /\ @[s].is # "sent" THEN NoScaling ELSE @[s]]]
    /\ owned' = [owned EXCEPT ![r] = @ \ given]
    /\ terms' = [terms EXCEPT ![r] = @ \ given]
    /\ shard' = [s \in Shards |-> IF s \in shards THEN Free ELSE shard[s]]
    /\ AfterShards(r, shards, IF released THEN [todo[r] EXCEPT !.end = {}, !.release = {}] ELSE Idle)
    /\ pc' = [pc EXCEPT ![r] = IF released /\ todo[r].claim # {} THEN "claiming" ELSE "following"]
    /\ UNCHANGED <<member, replicas, memory, identity, number, valid, problem, storing, clock, ended, wrong>>

\* Reconciling.end has returned, so reconciles in progress have ended and the memories are stored; then the Leases are released.
_give_up(r) ==
    /\ pc[r] = "ending" /\ IsDrained(r, todo[r].end)
    /\ Has("store") => IsStored(r)
    /\ must' = Passed(r, todo[r].end)
    /\ Given(r, TRUE)
    /\ UNCHANGED faults

\* They could not be stored in time; a write may still be on its way.
_give_up_unstored(r) ==
    /\ pc[r] = "ending" /\ IsDrained(r, todo[r].end) /\ ~IsStored(r) /\ Fault
    /\ Given(r, TRUE)
    /\ UNCHANGED must

\* The release is lost, and the rest of this pass is left out.
_give_up_unreleased(r) ==
    /\ pc[r] = "ending" /\ IsDrained(r, todo[r].end) /\ IsStored(r) /\ Fault
    /\ must' = Passed(r, todo[r].end)
    /\ Given(r, FALSE)

\* r learns that it has claimed these, and Reconciling.begin: it continues with its own memory if no other one has claimed them since.
Begun(r, shards) ==
    /\ owned' = [owned EXCEPT ![r] = @ \cup shards]
    /\ known' = [known EXCEPT ![r] = [s \in Scaled |->
            IF s \notin shards \/ (s \in terms[r] /\ @[s].is # "none") THEN @[s]
            ELSE IF Has("read") THEN Unread ELSE [Unknown EXCEPT !.is = "kept"]]]

Terms(r, answered, unanswered) == [q \in Replicas |->
    IF q = r THEN (terms[q] \cup answered) \ unanswered
    ELSE IF Has("terms") THEN terms[q] \ (answered \cup unanswered) ELSE terms[q]]

_claim(r) ==
    LET shards == todo[r].claim IN
    /\ pc[r] = "claiming"
    /\ shard' = [s \in Shards |-> IF s \in shards THEN Id(r) ELSE shard[s]]
    /\ Begun(r, shards)
    /\ terms' = Terms(r, shards, {})
    /\ AfterShards(r, shards, Idle)
    /\ pc' = [pc EXCEPT ![r] = "following"]
    /\ UNCHANGED <<member, replicas, memory, scaling, storing, identity, number, valid, problem, clock, ended, faults, must, wrong>>

\* One of them is carried out, and r does not know.
_claim_unanswered(r, s) ==
    LET shards == todo[r].claim IN
    /\ pc[r] = "claiming" /\ s \in shards /\ Fault
    /\ shard' = [each \in Shards |-> IF each \in shards THEN Id(r) ELSE shard[each]]
    /\ Begun(r, shards \ {s})
    /\ terms' = Terms(r, shards \ {s}, {s})
    /\ AfterShards(r, shards, Idle)
    /\ pc' = [pc EXCEPT ![r] = "following"]
    /\ UNCHANGED <<member, replicas, memory, scaling, storing, identity, number, valid, problem, clock, ended, must, wrong>>

\* One of them is on its way for so long that r does not wait for it any longer. (One that is lost is one that is dropped later.)
_claim_late(r, s) ==
    LET shards == todo[r].claim \ {s} IN
    /\ pc[r] = "claiming" /\ s \in todo[r].claim /\ late[r] = Free /\ Fault
    /\ shard' = [each \in Shards |-> IF each \in shards THEN Id(r) ELSE shard[each]]
    /\ Begun(r, shards)
    /\ terms' = Terms(r, shards, {})
    /\ todo' = [q \in Replicas |-> IF q = r THEN Idle
                ELSE [todo[q] EXCEPT !.release = @ \ shards, !.claim = @ \ shards]]
    /\ late' = [q \in Replicas |-> IF q = r THEN <<s, Id(r)>>
                ELSE IF late[q] # Free /\ late[q][1] \in shards THEN Free ELSE late[q]]
    /\ pc' = [pc EXCEPT ![r] = "following"]
    /\ UNCHANGED <<member, replicas, memory, scaling, storing, identity, number, valid, problem, clock, ended, must, wrong>>

claim_arrives(r) ==
    /\ late[r] # Free
    /\ shard' = [shard EXCEPT ![late[r][1]] = late[r][2]]
    /\ terms' = [q \in Replicas |-> terms[q] \ {late[r][1]}]
    /\ IF Has("versions")
       THEN /\ todo' = [q \in Replicas |-> [todo[q] EXCEPT !.release = @ \ {late[r][1]}, !.claim = @ \ {late[r][1]}]]
            /\ late' = [q \in Replicas |-> IF late[q] # Free /\ late[q][1] = late[r][1] THEN Free ELSE late[q]]
       ELSE /\ late' = [late EXCEPT ![r] = Free] /\ UNCHANGED todo
    /\ UNCHANGED <<member, replicas, memory, scaling, storing, pc, identity, number, valid, owned, known, problem, clock, ended, faults, must, wrong>>

\* No renewal has succeeded until the deadline: the replica was paused or cut off.
_renew_fails(r) ==
    /\ (IsMember(r) \/ pc[r] = "stopping") /\ valid[r] /\ Fault
    /\ valid' = [valid EXCEPT ![r] = FALSE]
    /\ UNCHANGED <<server, requests, pc, identity, number, owned, todo, terms, known, problem, clock, ended, must, wrong>>

\* LeaderElection.lead: the Lease is lost and the work has ended. A new identity joins; what is remembered stays, and is resumed as
\* what another process has stored.
lead(r) ==
    /\ IsMember(r) /\ ~valid[r] /\ IsDrained(r, Shards)
    /\ \A s \in Scaled: storing[r][s] = NoStoring
    /\ pc' = [pc EXCEPT ![r] = "joining"]
    /\ identity' = IF Has("identities") THEN [identity EXCEPT ![r] = @ + 1] ELSE identity
    /\ number' = [number EXCEPT ![r] = 0]
    /\ owned' = [owned EXCEPT ![r] = {}]
    /\ todo' = [todo EXCEPT ![r] = Idle]
    /\ known' = [known EXCEPT ![r] = [s \in Scaled |-> IF @[s].is = "kept" THEN [@[s] EXCEPT !.is = "left"] ELSE @[s]]]
    /\ UNCHANGED <<server, requests, valid, terms, problem, clock, ended, faults, must, wrong>>

\* SIGTERM.
stop(r) ==
    /\ IsMember(r) /\ Fault
    /\ pc' = [pc EXCEPT ![r] = "stopping"]
    /\ todo' = [todo EXCEPT ![r] = Idle]
    /\ UNCHANGED <<server, requests, identity, number, valid, owned, terms, known, problem, clock, ended, must, wrong>>

Ended(r) ==
    /\ pc' = [pc EXCEPT ![r] = "down"]
    /\ number' = [number EXCEPT ![r] = 0]
    /\ valid' = [valid EXCEPT ![r] = FALSE]
    /\ owned' = [owned EXCEPT ![r] = {}]
    /\ terms' = [terms EXCEPT ![r] = {}]
    /\ known' = [known EXCEPT ![r] = [s \in Scaled |-> Unknown]]
    /\ problem' = [problem EXCEPT ![r] = FALSE]
    /\ scaling' = [scaling EXCEPT ![r] = [s \in Scaled |-> IF @[s].is = "sent" THEN @[s] ELSE NoScaling]]

\* LeaderElection._release, of the own member's Lease.
stopped(r) ==
    LET n == number[r] IN
    /\ pc[r] = "stopping" /\ IsDrained(r, Shards) /\ (Has("store") => IsStored(r))
    /\ Ended(r)
    /\ must' = Passed(r, owned[r])
    /\ IF member[n] = Id(r)
       THEN /\ member' = [member EXCEPT ![n] = Free]
            /\ AfterMembers(r, {n}, Idle)
       ELSE UNCHANGED <<member, todo>>
    /\ UNCHANGED <<shard, replicas, memory, storing, late, identity, clock, ended, faults, wrong>>

\* SIGKILL, between any two steps. What was sent may still be carried out.
crash(r) ==
    /\ pc[r] # "down" /\ Fault
    /\ Ended(r)
    /\ todo' = [todo EXCEPT ![r] = Idle]
    /\ \/ UNCHANGED late
       \/ \E s \in todo[r].claim: pc[r] = "claiming" /\ late[r] = Free /\ late' = [late EXCEPT ![r] = <<s, Id(r)>>]
    /\ UNCHANGED <<server, storing, identity, clock, ended, must, wrong>>

\* Requests of a process that has ended, and a claim that is not waited for any longer, are lost on their way.
dropped(r) ==
    /\ late[r] # Free \/ (pc[r] = "down" /\ \E s \in Scaled: scaling[r][s] # NoScaling \/ storing[r][s] # NoStoring)
    /\ late' = [late EXCEPT ![r] = Free]
    /\ IF pc[r] = "down"
       THEN /\ scaling' = [scaling EXCEPT ![r] = [s \in Scaled |-> NoScaling]]
            /\ storing' = [storing EXCEPT ![r] = [s \in Scaled |-> NoStoring]]
       ELSE UNCHANGED <<scaling, storing>>
    /\ UNCHANGED <<server, replica, clock, ended, faults, must, wrong>>

-----------------------------------------------------------------------------
(* scaler/control/reconcile.py, memories.py, cluster/memories/store.py     *)

\* scaler/algorithm/restart.py: the newest High recommendation of a memory that another process has stored, at the time t.
Restored(stored, count, t, until) ==
    LET isOld == stored.at <= until
        hasGrown == Has("grown") /\ count > stored.replicas
        isOpen == Has("open step") /\ stored.last = High
    IN IF stored = Nothing THEN (IF count = High THEN t ELSE 0)
       ELSE IF isOpen \/ (stored.last < count /\ (isOld \/ hasGrown)) THEN t ELSE stored.high

\* Memories.must_store: whether a restart would continue alike from what is stored.
Restores(put, made, count, until) ==
    /\ put # Nothing /\ put.last = made.last /\ put.replicas = count
    /\ made.last = High \/ made.high <= until \/ made.high = put.high
    /\ ~(made.last = Low /\ count = High /\ put.at <= until)

\* With what MemoryStore.read has found.
Read(r, s) == IF known[r][s].is = "unread" THEN [known[r][s] EXCEPT !.put = memory[s]] ELSE known[r][s]

\* Memories.keep, and MemoryStore.put: at once if the count has changed, unless the last write has failed or one is on its way.
KeptUntil(r, s, made, count, until) ==
    LET before == Read(r, s)
        isAlike == Restores(before.put, made, count, until)
        put == IF isAlike THEN before.put ELSE [made EXCEPT !.replicas = count]
        isUrgent == ~isAlike /\ before.put # Nothing /\ before.put.replicas # count
        isSent == isUrgent /\ ~problem[r] /\ storing[r][s] = NoStoring /\ MayWrite(r, s)
    IN
    /\ known' = [known EXCEPT ![r][s] = [is |-> "kept", high |-> made.high, last |-> made.last, at |-> made.at, count |-> count, put |-> put,
                                         dirty |-> (before.dirty \/ ~isAlike) /\ ~isSent]]
    /\ storing' = IF isSent THEN [storing EXCEPT ![r][s] = [is |-> "sent", by |-> Id(r), history |-> put]] ELSE storing
Kept(r, s, made, count) == KeptUntil(r, s, made, count, ended)

\* A repeated recommendation is not written again, because the step that is stored is open.
Repeated(r, s, made, until) ==
    IF Restores(Read(r, s).put, made, replicas[s], until) /\ made.last = High /\ memory[s].last = High
    THEN [must EXCEPT ![s] = made.high] ELSE must

\* Reconciler.reconcile until it has decided, with what the metrics recommend, when all windows until `until` have ended.
\* The first one waits for MemoryStore.read.
reconcile(r, s, recommended, until) ==
    LET t == clock + 1
        before == Read(r, s)
        left == [high |-> before.high, last |-> before.last, at |-> before.at, replicas |-> before.count]
        high == IF before.is = "kept" THEN before.high
                ELSE Restored(IF before.is = "left" THEN left ELSE before.put, replicas[s], t, until)
        desired == IF recommended = High \/ (replicas[s] = High /\ high > until) THEN High ELSE Low
        made == [high |-> IF recommended = High THEN t ELSE high, last |-> recommended, at |-> t, replicas |-> 0]
    IN
    /\ IsMember(r) /\ s \in owned[r] \ todo[r].end /\ valid[r]
    /\ before.is # "none" /\ scaling[r][s] = NoScaling
    /\ clock < ReconcilesMax /\ clock' = t /\ ended' = until
    /\ IF desired = replicas[s]
       THEN /\ KeptUntil(r, s, made, desired, until) /\ must' = Repeated(r, s, made, until)
            /\ UNCHANGED scaling
       ELSE /\ scaling' = [scaling EXCEPT ![r][s] = [is |-> "decided", by |-> Id(r), to |-> desired, made |-> made]]
            /\ UNCHANGED <<known, storing, must>>
    /\ UNCHANGED <<server, late, pc, identity, number, valid, owned, todo, terms, problem, faults, wrong>>

\* The write is sent if it may be, as scaler/runtime/fencing.py checks.
rescale(r, s) ==
    /\ pc[r] # "down" /\ scaling[r][s].is = "decided"
    /\ IF MayWrite(r, s)
       THEN /\ scaling' = [scaling EXCEPT ![r][s].is = "sent"]
            /\ UNCHANGED <<known, storing, must>>
       ELSE /\ scaling' = [scaling EXCEPT ![r][s] = NoScaling]
            /\ Kept(r, s, scaling[r][s].made, replicas[s])
            /\ UNCHANGED must
    /\ UNCHANGED <<server, late, pc, identity, number, valid, owned, todo, terms, problem, clock, ended, faults, wrong>>

\* kube-apiserver carries it out.
Scale(r, s) ==
    LET sent == scaling[r][s]
        isOwner == shard[s] = sent.by /\ \E n \in Held: member[n] = sent.by
    IN
    /\ replicas' = [replicas EXCEPT ![s] = sent.to]
    /\ wrong' = wrong \cup (IF isOwner THEN {} ELSE {"written by two owners"})
                      \cup (IF sent.to = Low /\ must[s] > ended THEN {"a window is forgotten"} ELSE {})
ActedUpon(sent, s) == IF sent.to = High THEN [must EXCEPT ![s] = sent.made.high] ELSE must

\* The process may have ended meanwhile: then the change is in no memory.
scaled(r, s) ==
    LET sent == scaling[r][s] IN
    /\ sent.is = "sent"
    /\ Scale(r, s)
    /\ scaling' = [scaling EXCEPT ![r][s] = NoScaling]
    /\ must' = ActedUpon(sent, s)
    /\ IF pc[r] = "down" THEN UNCHANGED <<known, storing>> ELSE Kept(r, s, sent.made, sent.to)
    /\ UNCHANGED <<member, shard, memory, late, pc, identity, number, valid, owned, todo, terms, problem, clock, ended, faults>>

\* It gets no response, and may be carried out: the memory is stored with the count before it.
rescale_unanswered(r, s) ==
    LET sent == scaling[r][s] IN
    /\ pc[r] # "down" /\ sent.is = "sent" /\ Fault
    /\ \/ Scale(r, s) /\ must' = ActedUpon(sent, s)
       \/ UNCHANGED <<replicas, must, wrong>>
    /\ scaling' = [scaling EXCEPT ![r][s] = NoScaling]
    /\ Kept(r, s, sent.made, replicas[s])
    /\ UNCHANGED <<member, shard, memory, late, pc, identity, number, valid, owned, todo, terms, problem, clock, ended>>

\* MemoryStore.flush: the rest is written once per period.
flush(r, s) ==
    /\ (IsMember(r) \/ pc[r] = "stopping") /\ known[r][s].dirty /\ storing[r][s] = NoStoring /\ MayWrite(r, s)
    /\ storing' = [storing EXCEPT ![r][s] = [is |-> "sent", by |-> Id(r), history |-> known[r][s].put]]
    /\ known' = [known EXCEPT ![r][s].dirty = FALSE]
    /\ UNCHANGED <<server, scaling, late, pc, identity, number, valid, owned, todo, terms, problem, clock, ended, faults, must, wrong>>

\* The server has the history. One of another replica that is still on its way conflicts.
Written(r, s) ==
    LET sent == storing[r][s] IN
    /\ sent.is = "sent"
    /\ memory' = [memory EXCEPT ![s] = sent.history]
    /\ storing' = [q \in Replicas |-> [storing[q] EXCEPT ![s] = NoStoring]]
    /\ must' = IF shard[s] = sent.by THEN [must EXCEPT ![s] = Max(@, sent.history.high)] ELSE must

\* MemoryStore._write: after a conflict it is written again, with the new version.
Conflicting(r, s) == [q \in Replicas |->
    IF q # r /\ storing[q][s].is = "sent" /\ Knows(known[q][s]) THEN [known[q] EXCEPT ![s].dirty = TRUE] ELSE known[q]]

stored(r, s) ==
    /\ Written(r, s)
    /\ known' = Conflicting(r, s)
    /\ problem' = [problem EXCEPT ![r] = FALSE]
    /\ UNCHANGED <<member, shard, replicas, scaling, late, pc, identity, number, valid, owned, todo, terms, clock, ended, faults, wrong>>

\* The response is lost, or the request is.
store_unanswered(r, s) ==
    /\ pc[r] # "down" /\ storing[r][s].is = "sent" /\ Fault
    /\ LET unstored(before) == [before EXCEPT ![r][s].dirty = (@ \/ Knows(before[r][s]))] IN
       \/ Written(r, s) /\ known' = unstored(Conflicting(r, s))
       \/ /\ storing' = [storing EXCEPT ![r][s] = NoStoring]
          /\ known' = unstored(known)
          /\ UNCHANGED <<memory, must>>
    /\ problem' = [problem EXCEPT ![r] = TRUE]
    /\ UNCHANGED <<member, shard, replicas, scaling, late, pc, identity, number, valid, owned, todo, terms, clock, ended, wrong>>

-----------------------------------------------------------------------------
Shares(r) ==
    \/ _joined(r) \/ _once(r) \/ _release_members(r) \/ _give_up(r) \/ _claim(r)
    \/ lead(r) \/ stopped(r)
Responds(r) == \E s \in Scaled: rescale(r, s) \/ scaled(r, s) \/ flush(r, s) \/ stored(r, s)
Fails(r) ==
    \/ _joined_unanswered(r) \/ _give_up_unstored(r) \/ _give_up_unreleased(r) \/ _renew_fails(r) \/ stop(r) \/ crash(r)
    \/ \E s \in Shards: _claim_unanswered(r, s) \/ _claim_late(r, s)
    \/ \E s \in Scaled: rescale_unanswered(r, s) \/ store_unanswered(r, s)
Next == \E r \in Replicas:
    \/ Shares(r) \/ Responds(r) \/ Fails(r) \/ claim_arrives(r) \/ dropped(r)
    \/ \E s \in Scaled: \E recommended \in {Low, High}: \E until \in ended..clock: reconcile(r, s, recommended, until)

Safety == Init /\ [][Next]_vars

\* Whatever may be done is done at some time. Nothing is assumed of faults, of restarts, or of what is recommended.
Liveness == Safety /\ \A r \in Replicas:
    WF_vars(Shares(r)) /\ WF_vars(Responds(r)) /\ WF_vars(claim_arrives(r) \/ dropped(r))

-----------------------------------------------------------------------------
AnyOrder == Permutations(Replicas)
\* Windows that have ended do not matter any more.
Since(n) == IF n > ended THEN n ELSE 0
Current(history) == [history EXCEPT !.high = Since(@), !.at = Since(@)]
Relevant == <<member, shard, replicas, pc, identity, number, valid, owned, todo, terms, problem, late, clock, ended, faults, wrong,
    [s \in Scaled |-> <<Current(memory[s]), Since(must[s])>>],
    [r \in Replicas |-> [s \in Scaled |-> <<
        [known[r][s] EXCEPT !.high = Since(@), !.at = Since(@), !.put = Current(@)],
        IF scaling[r][s] = NoScaling THEN NoScaling ELSE [scaling[r][s] EXCEPT !.made = Current(@)],
        IF storing[r][s] = NoStoring THEN NoStoring ELSE [storing[r][s] EXCEPT !.history = Current(@)]>>]]>>

NothingIsWrittenByTwoOwners == "written by two owners" \notin wrong
NoWindowIsForgotten == "a window is forgotten" \notin wrong
AtMostOneOwner == \A s \in Shards: \A q, r \in Replicas: Owns(q, s) /\ Owns(r, s) => q = r
MayWriteOnlyAsOwner == \A s \in Shards: \A r \in Replicas: s \in owned[r] /\ valid[r] => shard[s] = Id(r)
EveryShardIsOwnedAgain == \A s \in Shards: []<>(\E r \in Replicas: Owns(r, s))
=============================================================================

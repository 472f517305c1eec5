"""Records behaviors of the model for `tests/conformance/scaler_protocol`: `python -m testbed.protocol_model.record`.

TLC walks through the model at random. Of what it writes, the shortest walks are kept that together have every action, in each
situation of the replica that does it: so a crash between any two writes is among them. Walks with lost responses to writes of
scales and memories, and with claims that arrive late, are in a file of their own: crashes would use up their faults.
"""

import argparse
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from testbed.protocol_model.tlc import HERE, run
from testbed.protocol_model.values import states
from testbed.vectors import compress

DIRECTORY: Final = HERE.parents[1] / "tests" / "conformance" / "scaler_protocol"
LATE: Final = ("_claim_late", "rescale_unanswered", "store_unanswered")
DEPTH: Final = 60
SEED: Final = 20261125


class Recording(msgspec.Struct, frozen=True):
    """A file of traces, from walks in which only one of these faults happens; any fault if it is empty."""

    name: str
    walks: int  # of each fault
    faults: Sequence[str]
    without: Sequence[str] = ()

    @property
    def target(self) -> Path:
        """Before it is compressed."""
        return DIRECTORY / f"{self.name}.jsonl"


RECORDINGS: Final = (
    Recording(
        "traces",
        2000,
        ("", "_claim_unanswered", "_give_up_unreleased", "_give_up_unstored", "_renew_fails"),
        without=LATE,
    ),
    Recording("late_traces", 300, LATE),
)

State = dict[str, Any]
KEPT: Final = ("member", "shard", "replicas", "memory", "owned", "valid", "identity", "ended")
"""What is compared with the real code after each action."""


class Walk(msgspec.Struct, frozen=True):
    """One behavior of the model."""

    states: Sequence[State]

    def situations(self) -> set[tuple[object, ...]]:
        """Each action with what its replica does and has on its way before it."""
        pairs = pairwise(self.states)
        return {_situation(before, after["did"]) for before, after in pairs}

    def line(self) -> bytes:
        """One line of JSON: a list of what was done and what is the case then."""
        steps = [_step(each) for each in self.states]
        pairs = pairwise(steps)
        # Of the others, only what has changed.
        changes = [
            {k: v for k, v in after.items() if k == "did" or before[k] != v}
            for before, after in pairs
        ]
        return msgspec.json.encode([{**steps[0], **changes[0]}, *changes[1:]]) + b"\n"


def _situation(before: State, did: Sequence[Any]) -> tuple[object, ...]:
    name, replica, *choice = did
    known = before["known"][replica]["5"]
    situation = (
        before["pc"][replica],
        before["scaling"][replica]["5"]["is"],
        before["storing"][replica]["5"]["is"],
    )
    return (
        name,
        *situation,
        known["is"],
        known["dirty"],
        before["valid"][replica],
        bool(before["late"][replica]),
        *choice[1:2],
    )


def _step(state: State) -> State:
    did = state["did"] or ["", "a"]
    return {
        "did": did,
        "todo": state["todo"][did[1]],
        "late": {replica: each[0] for replica, each in state["late"].items() if each},
        "ending": {
            replica: state["owned"][replica] if state["pc"][replica] == "stopping" else each["end"]
            for replica, each in state["todo"].items()
        },
        "storing": [
            replica for replica, each in state["storing"].items() if each["5"]["is"] == "sent"
        ],
        **{name: state[name] for name in KEPT},
    }


def is_comparable(walk: Walk, without: Sequence[str] = ()) -> bool:
    """Whether the real code has no choice where the model leaves it one. `without`: no walk with these actions."""
    if any(each["did"][0] in without for each in walk.states[1:]):
        return False
    return (
        _was_listed(walk)
        and not any(map(_changes_what_is_flushed, walk.states, walk.states[1:]))
        and not _is_stored_later(walk)
        and not any(map(_changes_what_was_read, walk.states, walk.states[1:]))
    )


def _changes_what_is_flushed(before: State, after: State) -> bool:
    """What has changed is written at once by a replica that gives up shards, and if it is another count once no write is on its
    way; the model may write it after one more change.
    """
    name, replica = after["did"][:2]
    known, stored = before["known"][replica]["5"], before["memory"]["5"]
    if name not in ("reconcile", "rescale", "scaled") or not known["dirty"]:
        return False
    is_urgent = known["put"]["replicas"] != stored["replicas"] and not before["problem"][replica]
    is_free = before["storing"][replica]["5"]["is"] == "none"
    return before["pc"][replica] == "ending" or (is_urgent and is_free)


def _changes_what_was_read(before: State, after: State) -> bool:
    """A reconcile that has read the memory decides by it; the model reads it again once the scale is written."""
    return before["memory"] != after["memory"] and any(
        known["5"]["is"] == "unread" and before["scaling"][replica]["5"]["is"] != "none"
        for replica, known in before["known"].items()
    )


def _is_stored_later(walk: Walk) -> bool:
    """A replica that gives up shards or stops tries once to store what has changed; the model may try again before it does so."""
    failing: set[str] = set()
    for before, after in pairwise(walk.states):
        name, replica = after["did"][:2]
        if replica in failing and name != "_give_up_unstored":
            return True
        failing.discard(replica)
        if name == "store_unanswered" and before["pc"][replica] in ("ending", "stopping"):
            failing.add(replica)
    return bool(failing)


def _was_listed(walk: Walk) -> bool:
    """Whether each Lease that is seen as expired was listed before by the same replica, unchanged.

    The model knows no seconds, so its replicas see it at their first LIST, too.
    """
    listed: dict[str, set[str]] = {}
    for before, after in pairwise(walk.states):
        name, replica = after["did"][:2]
        # One that has acquired a Lease at once has not observed the others yet.
        if name not in ("_once", "_joined_unanswered"):
            continue
        held = {
            number: f"{number} {holder}" for number, holder in before["member"].items() if holder
        }
        known = listed.setdefault(replica, set())
        gone = {held[str(each)] for each in after["todo"][replica]["members"]}
        unrenewed = {each for number, each in held.items() if not _renews(before, number)}
        if name == "_once" and gone and (gone - known or unrenewed - gone):
            return False
        known.update(held.values())
    return True


def _renews(state: State, number: str) -> bool:
    replica, identity = state["member"][number]
    is_current = identity == state["identity"][replica] and str(state["number"][replica]) == number
    # The release of one that stops is on its way.
    is_stopping = state["pc"][replica] == "stopping"
    return bool(is_current and state["valid"][replica] and not is_stopping)


def chosen(walks: Sequence[Walk]) -> list[Walk]:
    """Few of them, with every situation."""
    situations = [each.situations() for each in walks]
    missing = set().union(*situations)
    found: list[Walk] = []
    while missing:
        gains = [
            len(each & missing) / len(walk.states)
            for each, walk in zip(situations, walks, strict=True)
        ]
        best = gains.index(max(gains))
        found.append(walks[best])
        missing -= situations[best]
    return found


def main() -> None:
    """Write the traces."""
    names = [each.name for each in RECORDINGS]
    parser = argparse.ArgumentParser(prog="python -m testbed.protocol_model.record")
    parser.add_argument("--only", choices=names, help="only this file")
    only = parser.parse_args().only
    for recording in RECORDINGS:
        if only in (None, recording.name):
            _record(recording)


def _record(recording: Recording) -> None:
    walks = [each for fault in recording.faults for each in _walks(fault, recording.walks)]
    found = chosen([each for each in walks if is_comparable(each, recording.without)])
    recording.target.write_bytes(b"".join(each.line() for each in found))
    print(f"{len(found)} of {len(walks)} walks. {compress(recording.target)}")


def _walks(fault: str, count: int) -> list[Walk]:
    """Random ones in which only this fault happens; any fault if it is empty."""
    config = (HERE / "traces.cfg").read_text()
    if fault:
        config = config.replace("Faults = {}", f'Faults = {{"{fault}"}}')
    with tempfile.TemporaryDirectory() as directory:
        walks = f"file={directory}/walk,num={count}"
        run("Traces", config, "-simulate", walks, "-depth", str(DEPTH), "-seed", str(SEED))
        paths = sorted(Path(directory).glob("walk_*"))
        return [Walk(list(states(each.read_text()))) for each in paths]


if __name__ == "__main__":
    main()

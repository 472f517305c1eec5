"""Records behaviors of the model for `tests/conformance/scaler_protocol`: `python -m testbed.protocol_model.record`.

TLC walks through the model at random. Of what it writes, the shortest walks are kept that together have every action, in each
situation of the replica that does it: so a crash between any two writes is among them.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from testbed.protocol_model.tlc import HERE, run
from testbed.protocol_model.values import states

TARGET: Final = HERE.parents[1] / "tests" / "conformance" / "scaler_protocol" / "traces.jsonl"
WALKS: Final = 300
DEPTH: Final = 60
SEED: Final = 20261125

State = dict[str, Any]
KEPT: Final = ("member", "shard", "replicas", "memory", "owned", "valid", "ended")
"""What is compared with the real code after each action."""


class Walk(msgspec.Struct, frozen=True):
    """One behavior of the model."""

    states: Sequence[State]

    def situations(self) -> set[tuple[object, ...]]:
        """Each action with what its replica does and has on its way before it."""
        pairs = zip(self.states, self.states[1:], strict=False)
        return {_situation(before, after["did"]) for before, after in pairs}

    def line(self) -> bytes:
        """One line of JSON: a list of what was done and what is the case then."""
        steps = [_step(each) for each in self.states]
        pairs = zip(steps, steps[1:], strict=False)
        # Of the others, only what has changed.
        changes = [{k: v for k, v in after.items() if k == "did" or before[k] != v} for before, after in pairs]
        return msgspec.json.encode([{**steps[0], **changes[0]}, *changes[1:]]) + b"\n"


def _situation(before: State, did: Sequence[Any]) -> tuple[object, ...]:
    name, replica, *choice = did
    known = before["known"][replica]["5"]
    situation = (before["pc"][replica], before["scaling"][replica]["5"]["is"], before["storing"][replica]["5"]["is"])
    return name, *situation, known["is"], known["dirty"], before["valid"][replica], bool(before["late"][replica]), *choice[1:2]


def _step(state: State) -> State:
    did = state["did"] or ["", "a"]
    return {
        "did": did,
        "todo": state["todo"][did[1]],
        "late": {replica: each[0] for replica, each in state["late"].items() if each},
        "storing": [replica for replica, each in state["storing"].items() if each["5"]["is"] == "sent"],
        **{name: state[name] for name in KEPT},
    }


def can_be_seen(walk: Walk) -> bool:
    """Whether each Lease that is seen as expired was listed before by the same replica, unchanged.

    The model knows no seconds, so its replicas see it at their first LIST, too.
    """
    listed: dict[str, set[str]] = {}
    for before, after in zip(walk.states, walk.states[1:], strict=False):
        name, replica = after["did"][:2]
        if name == "lead":
            listed.pop(replica, None)
        if name not in ("_once", "_joined", "_joined_unanswered"):
            continue
        known = listed.setdefault(replica, set())
        now = {f"{number} {holder}" for number, holder in before["member"].items() if holder}
        gone = {f"{number} {before['member'][str(number)]}" for number in after["todo"][replica]["members"]}
        if name == "_once" and not gone <= known:
            return False
        known |= now
    return True


def chosen(walks: Sequence[Walk]) -> list[Walk]:
    """Few of them, with every situation."""
    missing = set().union(*(each.situations() for each in walks))
    found: list[Walk] = []
    while missing:
        best = max(walks, key=lambda each: len(each.situations() & missing) / len(each.states))
        found.append(best)
        missing -= best.situations()
    return found


def main() -> None:
    """Write the traces."""
    with tempfile.TemporaryDirectory() as directory:
        options = ["-simulate", f"file={directory}/walk,num={WALKS}", "-depth", str(DEPTH), "-seed", str(SEED)]
        run("Traces", (HERE / "traces.cfg").read_text(), *options)
        paths = sorted(Path(directory).glob("walk_*"))
        walks = [Walk(list(states(each.read_text()))) for each in paths]
    found = chosen([each for each in walks if can_be_seen(each)])
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(b"".join(each.line() for each in found))
    print(f"{len(found)} of {len(walks)} walks, {TARGET.stat().st_size} bytes: {TARGET}")


if __name__ == "__main__":
    main()

"""A memory as it is stored: in `status.history` of a LoadAutoscaler, and in a ScalingMemory for an HPA."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scaler.algorithm.extension import Extension, Part
from scaler.algorithm.memory import AnyMemory, Change, Memory, StoredMemory
from scaler.algorithm.policy import Policy
from scaler.algorithm.recommendations import held, with_change
from scaler.api.history import History, Remembered, fields_of

if TYPE_CHECKING:
    from scaler.algorithm.draft import Turn

Extensions = Sequence[Extension[Any, Any]]
Fields = dict[str, msgspec.Raw]


def history_of(memory: AnyMemory, extensions: Extensions) -> History:
    """What is stored of a memory."""
    if isinstance(memory, StoredMemory):
        return memory.history
    inside: dict[str, msgspec.Raw] = {}
    states: dict[str, str] = {}
    beside: dict[str, Any] = {}
    for each in extensions:
        stored = stored_state(memory, each)
        if stored is None:
            continue
        encoded = msgspec.json.encode(stored)
        if each.stored_beside:
            text = isinstance(stored, str)
            beside[each.stored_as] = stored if text else msgspec.json.decode(encoded, type=Fields)
        elif each.stored_as:
            inside[each.stored_as] = msgspec.Raw(encoded)
        else:
            states[each.name] = encoded.decode()
    return History(
        **fields_of(Remembered, memory), extensions=inside or None, states=states, **beside
    )


def state_of(memory: AnyMemory, extension: Extension[Any, Any], now_unix_seconds: float) -> Any:
    """The state of an extension in a memory of this process, or in a stored one; None for none."""
    if isinstance(memory, Memory):
        return memory.states.get(extension.name)
    stored = stored_state(memory, extension)
    return None if stored is None else extension.restored(stored, now_unix_seconds)


def stored_state(memory: AnyMemory, extension: Extension[Any, Any]) -> Any:
    """What is, or would be, stored of the state of an extension; None for nothing."""
    if extension.state_type is None:
        return None
    if isinstance(memory, Memory):
        state = memory.states.get(extension.name)
        return None if state is None else extension.stored(state)
    if extension.stored_beside:
        found = getattr(memory.history, extension.stored_as)
        raw: Any = msgspec.json.encode(found) if found else None
    elif extension.stored_as:
        raw = (memory.history.extensions or {}).get(extension.stored_as)
    else:
        raw = memory.history.states.get(extension.name)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=extension.state_type)
    except (msgspec.DecodeError, RecursionError):
        # Another version's, or a user's: the extension starts as with a new autoscaler.
        return None


def begun_with_states(turn: "Turn", known_replicas: tuple[int, ...] | None) -> Memory:
    """The memory of a turn, with the states with which its extensions begin."""
    states = dict(turn.memory.states)
    for part in turn.parts:
        name = part.extension.name
        states[name] = part.extension.begin(part.rules, states.get(name), turn, known_replicas)
    return with_states(turn.memory, states)


def held_with_states(
    memory: Memory,
    policy: Policy,
    parts: Sequence[Part],
    now_unix_seconds: float,
    *,
    were_read: bool,
) -> Memory:
    """The memory after a reconcile that could recommend nothing. `were_read`: whether the metrics were, but some have failed."""
    states = states_held(memory.states, parts, now_unix_seconds, were_read=were_read)
    return with_states(held(memory, policy, now_unix_seconds), states)


def states_held(
    before: Mapping[str, Any], parts: Sequence[Part], now_unix_seconds: float, *, were_read: bool
) -> dict[str, Any]:
    """The states after such a reconcile, or after a time in which it is not known what the metrics were."""
    states = dict(before)
    for part in parts:
        name = part.extension.name
        if states.get(name) is not None:
            states[name] = part.extension.held(
                part.rules, states[name], now_unix_seconds, were_read=were_read
            )
    return states


def changed_with_states(
    memory: Memory, policy: Policy, parts: Sequence[Part], change: Change
) -> Memory:
    """The memory after a write of the scale."""
    states = dict(memory.states)
    for part in parts:
        name = part.extension.name
        states[name] = part.extension.changed(part.rules, states.get(name), change)
    return with_states(with_change(memory, policy, change), states)


def disabled_with_states(memory: Memory, extensions: Extensions) -> Memory:
    """The memory while the target is at zero without the scaler: whatever the metrics do then is not measured."""
    states = {
        each.name: each.disabled(memory.states[each.name])
        for each in extensions
        if each.name in memory.states
    }
    return with_states(memory, states)


def with_states(memory: Memory, states: Mapping[str, Any]) -> Memory:
    """The same memory object while nothing changes; absent and None are the same."""
    found = {name: state for name, state in states.items() if state is not None}
    if found == memory.states:
        return memory
    return msgspec.structs.replace(memory, states=found)

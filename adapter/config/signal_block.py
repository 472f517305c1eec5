"""`signal`: what a missing, invalid, old or partial value means for a rule."""

from typing import Final

import msgspec

from adapter.config.document import Block
from adapter.config.problems import ProblemCode
from adapter.model import Reaction, SignalContract

NAMED: Final = SignalContract(
    on_empty=Reaction.FAIL,
    on_nan=Reaction.FAIL,
    on_partial=Reaction.FAIL,
    keeps_positive=True,
)
"""Named metrics: nothing is scaled on missing data."""

DISCOVERED_CUSTOM: Final = SignalContract(
    on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT
)
"""`rules`: as in prometheus-adapter, whose users rely on 0/0 meaning idle."""

DISCOVERED_EXTERNAL: Final = SignalContract(
    on_empty=Reaction.OMIT, on_nan=Reaction.FAIL, on_partial=Reaction.ACCEPT
)
"""`externalRules`: as in prometheus-adapter, except that NaN is an error and not the smallest integer."""

_VALUE_CHOICES = ("fail", "zero", "last", "omit")
_PARTIAL_CHOICES = ("fail", "last", "accept")


def read_contract(rule: Block, default: SignalContract) -> SignalContract:
    """The `signal` block of a rule, over the defaults of its kind."""
    block = rule.block("signal")

    def reaction(
        name: str, otherwise: Reaction, allowed: tuple[str, ...] = _VALUE_CHOICES
    ) -> Reaction:
        return Reaction(block.choice(name, allowed, otherwise.value))

    contract = msgspec.structs.replace(
        default,
        on_empty=reaction("onEmpty", default.on_empty),
        on_nan=reaction("onNaN", default.on_nan),
        on_stale=reaction("onStale", default.on_stale),
        on_partial=reaction("onPartial", default.on_partial, _PARTIAL_CHOICES),
        stale_after_seconds=block.seconds("staleAfter", default.stale_after_seconds),
        last_for_seconds=block.seconds("lastFor", default.last_for_seconds),
    )
    _check_ages(block, contract)
    block.close()
    return contract


def signal_of_named(contract: SignalContract) -> dict[str, str]:
    """The `signal` block that gives a named metric this contract."""
    reactions = {
        "onEmpty": (contract.on_empty, NAMED.on_empty),
        "onNaN": (contract.on_nan, NAMED.on_nan),
        "onStale": (contract.on_stale, NAMED.on_stale),
        "onPartial": (contract.on_partial, NAMED.on_partial),
    }
    ages = {"staleAfter": contract.stale_after_seconds, "lastFor": contract.last_for_seconds}
    return {
        **{name: own.value for name, (own, default) in reactions.items() if own is not default},
        **{name: _duration(age) for name, age in ages.items() if age is not None},
    }


def _duration(seconds: float) -> str:
    """As Prometheus reads it, which has no fractions."""
    milliseconds = round(1000 * seconds)
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def _check_ages(block: Block, contract: SignalContract) -> None:
    uses_last = Reaction.LAST in (
        contract.on_empty,
        contract.on_nan,
        contract.on_stale,
        contract.on_partial,
    )
    if uses_last and contract.last_for_seconds is None:
        block.error(
            ProblemCode.MISSING_FIELD,
            "lastFor",
            "`last` is used without a limit on the age",
            "Add `lastFor: 5m`, the maximum age of a last good value.",
        )
    if contract.last_for_seconds is not None and not uses_last:
        block.warning(
            ProblemCode.NO_EFFECT,
            "lastFor",
            "nothing uses the last good value",
            "Set onEmpty, onNaN, onStale or onPartial to `last`, or delete it.",
        )
    if block.has("onStale") and contract.stale_after_seconds is None:
        block.error(
            ProblemCode.MISSING_FIELD,
            "onStale",
            "there is no age at which a sample is stale",
            "Add `staleAfter: 2m`.",
        )

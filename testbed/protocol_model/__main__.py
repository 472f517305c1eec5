"""`python -m testbed.protocol_model`: check the model, and that it fails without each of its rules; exit code 1 otherwise."""

import argparse
import re
import sys
import time
from typing import Final

import msgspec

from testbed.protocol_model.tlc import HERE, TEMPORAL_PROPERTY, TlcFailed, check

CONFIGS: Final = ("handover", "liveness", "safety")
TWO_OWNERS: Final = "NothingIsWrittenByTwoOwners"
FORGOTTEN: Final = "NoWindowIsForgotten"
WITHOUT_LEASE: Final = "MayWriteOnlyAsOwner"


class Broken(msgspec.Struct, frozen=True):
    """The model without one rule, and what TLC must find then. `faults` and `reconciles` are enough for it."""

    rule: str
    violated: str
    config: str = "handover"
    reconciles: int = 2
    faults: int = 1


BROKEN: Final = (
    Broken("expiry", TWO_OWNERS),
    Broken("requests end", TWO_OWNERS),
    Broken("fence", TWO_OWNERS),
    Broken("drain", TWO_OWNERS, faults=0),
    Broken("versions", WITHOUT_LEASE),
    Broken("store", FORGOTTEN, reconciles=4, faults=0),
    Broken("read", FORGOTTEN, reconciles=3),
    Broken("open step", FORGOTTEN, reconciles=3),
    Broken("grown", FORGOTTEN, reconciles=3),
    Broken("strays", TEMPORAL_PROPERTY, "liveness", reconciles=0),
    Broken("members", TEMPORAL_PROPERTY, "liveness", reconciles=0),
)


def main() -> int:
    """Print what was found. The whole model takes six minutes, each broken one less than one."""
    checks = (*CONFIGS, *(each.rule for each in BROKEN))
    parser = argparse.ArgumentParser(prog="python -m testbed.protocol_model")
    parser.add_argument(
        "check",
        nargs="*",
        metavar="CHECK",
        help=f"one of {', '.join(checks)} (default: all); a rule is one that is switched off",
    )
    named = parser.parse_args().check
    if unknown := [each for each in named if each not in checks]:
        parser.error(f"{unknown[0]!r} is not a check: use {', '.join(checks)}")
    named, is_right = named or checks, True
    for config in CONFIGS:
        if config in named:
            is_right &= _holds(config, _text(config), "")
    for each in BROKEN:
        if each.rule in named:
            text = _text(each.config)
            text = re.sub(r"(?m)^( *Without = ).*", rf'\1{{"{each.rule}"}}', text)
            text = re.sub(r"(?m)^( *ReconcilesMax = ).*", rf"\g<1>{each.reconciles}", text)
            text = re.sub(r"(?m)^( *FaultsMax = ).*", rf"\g<1>{each.faults}", text)
            is_right &= _holds(f"without {each.rule!r}", text, each.violated)
    return 0 if is_right else 1


def _text(config: str) -> str:
    return (HERE / f"{config}.cfg").read_text()


def _holds(name: str, config: str, expected: str) -> bool:
    """Whether exactly that is violated; empty: nothing."""
    started_seconds = time.monotonic()
    found = check(config)
    seconds = time.monotonic() - started_seconds
    result = (
        f"{found.violated} is violated"
        if found.violated
        else f"{found.distinct_states} distinct states"
    )
    is_right = found.violated == expected
    print(
        f"{'as expected' if is_right else 'WRONG'}: {name}: {result}, {seconds:.0f} s", flush=True
    )
    if not is_right:
        print(found.output)
    return is_right


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TlcFailed as error:
        sys.exit(str(error))

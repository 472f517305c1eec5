"""The conditions under which a program is ready; `wire.serving.health` serves them."""

from collections.abc import Callable

import msgspec


class Check(msgspec.Struct, frozen=True):
    """A named condition. `problem` returns what is wrong, or None; it must not block.

    `informs`: the problem is shown by `?verbose` and does not fail the probe.
    """

    name: str
    problem: Callable[[], str | None]
    informs: bool = False

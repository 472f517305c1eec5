"""Connections and requests that were refused because a client took too much: counted, and logged at most once a minute."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from wire.serving.refusal_reasons import Reason

LOG_SECONDS: Final = 60.0
ADDRESSES_MAX: Final = 1000
"""How many addresses are counted between two lines of the log."""

log = logging.getLogger(__name__)


CallLater = Callable[[float, Callable[[], None]], object]


def _call_later(seconds: float, call: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, call)


class Refusals:
    """The refusals of one server."""

    def __init__(
        self,
        count: Callable[[str], object] = lambda _: None,
        *,
        call_later: CallLater = _call_later,
    ) -> None:
        """`count` is called with the reason of each refusal."""
        self._count = count
        self._call_later = call_later
        self._is_quiet = False
        self._reasons: Counter[Reason] = Counter()
        self._addresses: Counter[str] = Counter()

    def note(self, reason: Reason, address: str) -> None:
        """A client at this address was refused."""
        self._count(reason.value)
        self._reasons[reason] += 1
        if address in self._addresses or len(self._addresses) < ADDRESSES_MAX:
            self._addresses[address] += 1
        if not self._is_quiet:
            self._log()

    def _log(self) -> None:
        """Log those since the last line, and none of the next minute before its end."""
        self._is_quiet = bool(self._reasons)
        if not self._reasons:
            return
        ((address, count),) = self._addresses.most_common(1)
        log.warning(
            "refused %d connections or requests since the last such message, because clients exceeded a limit (%s); "
            "most of them (%d) came from %s",
            self._reasons.total(),
            ", ".join(f"{reason.value}: {number}" for reason, number in self._reasons.items()),
            count,
            address,
        )
        self._reasons.clear()
        self._addresses.clear()
        self._call_later(LOG_SECONDS, self._log)

"""Clients that take too much are counted by reason, and the log has a line for them at most once a minute."""

from collections import Counter
from collections.abc import Callable

from wire.serving.refusal_reasons import Reason
from wire.serving.refusals import ADDRESSES_MAX, LOG_SECONDS, Refusals


class Minutes:
    """The loop's timers, which the test lets pass."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds == LOG_SECONDS == 60.0
        self._waiting.append(call)

    def passes(self) -> None:
        due, self._waiting = self._waiting, []
        for call in due:
            call()


def test_each_refusal_is_counted_by_its_reason():
    counted: Counter[str] = Counter()
    refusals = Refusals(lambda reason: counted.update([reason]), call_later=Minutes().call_later)
    for reason in (*Reason, Reason.MEMORY):
        refusals.note(reason, "10.0.0.1")
    assert counted == {"connections": 1, "memory": 2, "headers": 1, "time": 1, "reviews": 1}


def test_the_log_has_one_line_a_minute_with_the_number_and_the_address_with_most(caplog):
    minutes = Minutes()
    refusals = Refusals(call_later=minutes.call_later)
    refusals.note(Reason.MEMORY, "10.0.0.1")
    assert "1 connections or requests" in caplog.messages[0], "the first one at once"
    for address in ("10.0.0.2", "10.0.0.3", "10.0.0.3"):
        refusals.note(Reason.CONNECTIONS, address)
    refusals.note(Reason.REVIEWS, "10.0.0.3")
    assert len(caplog.messages) == 1
    minutes.passes()
    assert len(caplog.messages) == 2
    assert caplog.messages[1].startswith("refused 4 connections or requests")
    assert "(connections: 3, reviews: 1)" in caplog.messages[1]
    assert caplog.messages[1].endswith("most of them (3) came from 10.0.0.3")


def test_a_minute_without_a_refusal_has_no_line_and_the_next_refusal_is_logged_at_once(caplog):
    minutes = Minutes()
    refusals = Refusals(call_later=minutes.call_later)
    refusals.note(Reason.HEADERS, "10.0.0.1")
    minutes.passes()
    minutes.passes()
    assert len(caplog.messages) == 1
    refusals.note(Reason.HEADERS, "10.0.0.1")
    assert len(caplog.messages) == 2


def test_clients_of_very_many_addresses_do_not_fill_the_memory(caplog):
    minutes = Minutes()
    refusals = Refusals(call_later=minutes.call_later)
    for number in range(2 * ADDRESSES_MAX):
        refusals.note(Reason.CONNECTIONS, str(number))
    assert len(refusals._addresses) <= ADDRESSES_MAX
    minutes.passes()
    assert caplog.messages[1].startswith(f"refused {2 * ADDRESSES_MAX - 1} connections")

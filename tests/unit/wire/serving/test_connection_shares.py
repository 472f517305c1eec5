"""Which connections have to end when all take more than they may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.serving.connection_shares import (
    CONNECTION_BYTES,
    COPIES,
    RECEIVE_BUFFER_BYTES,
    ConnectionShares,
    Group,
    Share,
)
from wire.serving.refusal_reasons import Reason

FEW = Share(8 * CONNECTION_BYTES, 4 * CONNECTION_BYTES)


class Listener:
    """Admits connections, and notes which ones were closed."""

    def __init__(self, **shares: Share) -> None:
        given = {group: shares.get(group.value, FEW) for group in Group}
        self.refused: list[tuple[Reason, str]] = []
        self.shares = ConnectionShares(given, lambda *refusal: self.refused.append(refusal))
        self.closed: list[object] = []

    def admit(self, address: str, group: Group = Group.UNKNOWN):
        place = self.shares.admit(address)
        if place is not None:
            place.close = lambda: self.closed.append(place)
            if group is not Group.UNKNOWN:
                assert self.shares.move(place, group)
        return place

    def receive(self, place, size: int) -> bool:
        place.received_at_once_bytes = max(place.received_at_once_bytes, size)
        place.held_bytes += size
        return self.shares.resize(place)


def test_an_address_that_has_its_part_gets_no_more_connections_and_others_do():
    listener = Listener()
    mine = [listener.admit("a") for _ in range(6)]
    assert [place is None for place in mine] == [False] * 4 + [True] * 2
    assert listener.admit("b") is not None
    assert listener.closed == []
    assert listener.refused == [(Reason.CONNECTIONS, "a")] * 2


def test_a_large_connection_gives_way_to_a_new_one_of_its_address():
    listener = Listener()
    large, *_ = [listener.admit("a") for _ in range(2)]
    assert listener.receive(large, 20_000)
    assert listener.admit("a") is not None
    assert listener.closed == [large]
    assert listener.refused == [(Reason.MEMORY, "a")]


def test_when_all_is_taken_the_address_with_most_loses_its_oldest_connection():
    listener = Listener()
    first, *_ = [listener.admit("a") for _ in range(4)]
    for number in range(4):
        assert listener.admit(f"b{number}") is not None
    assert listener.admit("c") is not None
    assert listener.closed == [first]
    assert listener.shares.size_bytes(Group.UNKNOWN) == FEW.bytes_max


def test_the_connection_that_takes_most_ends_first():
    listener = Listener(unknown=Share(1_000_000, 1_000_000))
    small, large = listener.admit("a"), listener.admit("a")
    assert listener.receive(large, 100_000)
    for number in range(6):
        listener.admit(f"b{number}")
    assert listener.closed == [large]
    assert listener.receive(small, 10)


def test_of_small_connections_one_that_waits_for_a_request_ends_before_those_in_use():
    listener = Listener(unknown=Share(9 * CONNECTION_BYTES, 5 * CONNECTION_BYTES - 1))
    listener.admit("node", Group.VERIFIED)
    places = [listener.admit("node") for _ in range(4)]
    assert listener.receive(places[0], 2_000)
    places[1].is_idle = places[2].is_idle = True
    assert all(listener.admit("node") is not None for _ in range(3))
    assert listener.closed == [places[1], places[2], places[0]]


def test_a_large_connection_ends_before_one_that_waits_for_a_request():
    listener = Listener(unknown=Share(9 * CONNECTION_BYTES, 5 * CONNECTION_BYTES))
    listener.admit("node", Group.VERIFIED)
    idle, large = listener.admit("node"), listener.admit("node")
    idle.is_idle = True
    assert listener.receive(large, 25_000)
    assert [listener.admit("node") is not None for _ in range(2)] == [True, True]
    assert listener.closed == [large]


def test_a_request_for_which_an_idle_connection_can_end_is_not_refused():
    listener = Listener(unknown=Share(2 * CONNECTION_BYTES, 2 * CONNECTION_BYTES))
    idle, place = listener.admit("a"), listener.admit("a")
    idle.is_idle = True
    assert listener.receive(place, 1_000)
    assert listener.closed == [idle]


def test_a_connection_that_takes_too_much_itself_has_to_end():
    listener = Listener()
    place, other = listener.admit("a"), listener.admit("b")
    assert not listener.receive(place, 1_000_000)
    listener.shares.leave(place)
    assert listener.shares.size_bytes(Group.UNKNOWN) == CONNECTION_BYTES
    assert listener.receive(other, 10)
    assert listener.closed == []


@pytest.mark.deviation("limits-before-authentication")
def test_known_clients_are_not_limited_by_unknown_ones():
    listener = Listener()
    known = listener.admit("apiserver", Group.VERIFIED)
    accepted = listener.admit("prometheus", Group.AUTHENTICATED)
    for number in range(100):
        listener.admit(f"a{number % 20}")
    assert known not in listener.closed
    assert accepted not in listener.closed
    assert listener.receive(known, 1_000)
    assert listener.receive(accepted, 1_000)


def test_a_known_client_gets_a_connection_at_an_address_that_unknown_ones_have_filled():
    """kube-apiserver and an unknown client may have the address of one node."""
    listener = Listener()
    listener.admit("node", Group.VERIFIED)
    unknown = [listener.admit("node") for _ in range(4)]
    assert listener.admit("node") is not None
    assert listener.closed == [unknown[0]]


def test_a_client_that_is_authenticated_stays_among_the_unknown_ones_if_its_group_is_full():
    listener = Listener(authenticated=Share(CONNECTION_BYTES, CONNECTION_BYTES))
    listener.admit("a", Group.AUTHENTICATED)
    second = listener.admit("a")
    assert not listener.shares.move(second, Group.AUTHENTICATED)
    assert second.group is Group.UNKNOWN
    assert listener.shares.size_bytes(Group.UNKNOWN) == CONNECTION_BYTES


def test_what_has_ended_takes_nothing_whatever_happens_to_it_then():
    listener = Listener()
    place = listener.admit("a")
    for _ in range(2):
        listener.shares.leave(place)
    assert not listener.receive(place, 10)
    assert not listener.shares.move(place, Group.VERIFIED)
    assert len(listener.shares) == 0
    assert listener.shares.size_bytes(Group.UNKNOWN) == 0


def test_the_buffers_of_a_connection_count_until_it_ends():
    listener = Listener(unknown=Share(10_000_000, 10_000_000))
    place = listener.admit("a")
    listener.receive(place, 2_000_000)
    place.held_bytes = 0
    assert listener.shares.resize(place)
    expected = CONNECTION_BYTES + COPIES * RECEIVE_BUFFER_BYTES
    assert listener.shares.size_bytes(Group.UNKNOWN) == expected


steps = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.integers(0, 3)),
        st.tuples(st.sampled_from(["receive", "answer", "leave", "know"]), st.integers(0, 20)),
    ),
    max_size=80,
)


@pytest.mark.deviation("limits-before-authentication")
@pytest.mark.parametrize("group", [Group.AUTHENTICATED, Group.VERIFIED])
@given(steps)
def test_no_group_and_no_address_takes_more_than_it_may(group, steps):
    listener = Listener()
    places = []
    for step, number in steps:
        if step == "admit":
            places.append(listener.admit(str(number)))
            continue
        place = places[number % len(places)] if places else None
        if place is None or place in listener.closed:
            continue
        if step == "receive":
            if not listener.receive(place, 10_000 * number):
                listener.shares.leave(place)
        elif step == "answer":
            place.held_bytes = 0
            listener.shares.resize(place)
        elif step == "know":
            listener.shares.move(place, group)
        else:
            listener.shares.leave(place)
        alive = {each for each in places if each is not None and each.size_bytes}
        for each in Group:
            members = [one for one in alive if one.group is each]
            assert listener.shares.size_bytes(each) == sum(one.size_bytes for one in members)
            assert listener.shares.size_bytes(each) <= FEW.bytes_max
            for address in {one.address for one in members}:
                taken = sum(one.size_bytes for one in members if one.address == address)
                assert taken <= FEW.address_bytes_max

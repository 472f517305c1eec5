"""PURE: what the connections of a listener may take in memory, and which one has to end when they take more.

A client is unknown until it is authenticated, and clients that are not known cannot take what is for the others: each
group of connections has a share. When a share is full, or one address takes its part of it, the connection that takes most at
the address that takes most has to end. If all there are small, it is one that waits for its next request, because ending that
fails no request and no stream. So a client that connects from one address does not get in the way of others, and one
that connects from many addresses does not get in the way of small, short requests such as those of probes.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from wire.serving.refusal_reasons import Reason, Refused

CONNECTION_BYTES: Final = 64 << 10
"""A TLS connection that has sent a small request: OpenSSL's state, the parser, the protocol and its task, as measured."""
SMALL_BYTES: Final = 2 * CONNECTION_BYTES
"""What a connection may take without giving way to a new one of the same address."""
RECEIVE_BUFFER_BYTES: Final = 128 << 10
"""What a connection receives at once: the kernel keeps no more for it (`SO_RCVBUF`)."""
COPIES: Final = 3
"""What was received is kept encrypted and decrypted, in buffers that grow by a third, and a header as bytes, as text, and once more
while the parser appends to it.
"""


class Group(Enum):
    """How much is known of a client."""

    UNKNOWN = "unknown"
    AUTHENTICATED = "authenticated"
    """A request on this connection was authenticated."""
    VERIFIED = "verified"
    """Its certificate is one of a client CA or of the front proxy's CA, as that of kube-apiserver."""


class Share(NamedTuple):
    """What the connections of a group may take, and those of one address."""

    bytes_max: int
    address_bytes_max: int


UNKNOWN_BYTES_MAX: Final = 12 << 20
ADDRESS_BYTES_MAX: Final = 8 << 20
"""115 small connections: a scaler opens up to 100 at once, and each is unknown until its first token was reviewed."""
AUTHENTICATED_BYTES_MAX: Final = 16 << 20

SHARES: Final[Mapping[Group, Share]] = {
    Group.UNKNOWN: Share(UNKNOWN_BYTES_MAX, ADDRESS_BYTES_MAX),
    Group.AUTHENTICATED: Share(AUTHENTICATED_BYTES_MAX, AUTHENTICATED_BYTES_MAX // 2),
    # Thousands of connections of a few addresses: those of kube-apiserver. They are trusted, and reach this only by an error.
    Group.VERIFIED: Share(256 << 20, 256 << 20),
}
"""The first two are part of the memory of the pod (see `adapter.caches`)."""


class Place:
    """One connection: where it comes from, and what it takes. `close` ends it at once."""

    __slots__ = ("address", "close", "group", "held_bytes", "is_idle", "received_at_once_bytes", "size_bytes")  # fmt: skip

    def __init__(self, address: str) -> None:
        self.address = address
        self.group = Group.UNKNOWN
        self.close: Callable[[], object] = lambda: None
        self.is_idle = False
        """Whether its requests were answered, and none has begun since."""
        self.received_at_once_bytes = 0
        self.held_bytes = 0
        self.size_bytes = 0

    def needed_bytes(self) -> int:
        """An estimate of what it takes now."""
        buffers = min(self.received_at_once_bytes, RECEIVE_BUFFER_BYTES)
        return CONNECTION_BYTES + COPIES * (buffers + self.held_bytes)


class _Members:
    """The connections of a group by address, the oldest first, and what they take."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self.size_bytes = 0
        self.places: dict[str, dict[Place, None]] = {}
        self.sizes: dict[str, int] = {}

    def add(self, place: Place) -> None:
        self.places.setdefault(place.address, {})[place] = None
        self.resize(place, place.needed_bytes())

    def remove(self, place: Place) -> None:
        of_address = self.places.get(place.address, {})
        if place not in of_address:
            return
        self.resize(place, 0)
        del of_address[place]
        if not of_address:
            del self.places[place.address], self.sizes[place.address]

    def resize(self, place: Place, size_bytes: int) -> None:
        more = size_bytes - place.size_bytes
        place.size_bytes = size_bytes
        self.size_bytes += more
        self.sizes[place.address] = self.sizes.get(place.address, 0) + more

    def crowded(self, address: str) -> str | None:
        """The address at which a connection has to end: `address`, if that takes its part. None if all fit."""
        if self.sizes.get(address, 0) > self.share.address_bytes_max:
            return address
        if self.size_bytes > self.share.bytes_max:
            return max(self.sizes, key=self.sizes.__getitem__)
        return None

    def fits(self, place: Place) -> bool:
        size_bytes = place.needed_bytes()
        of_address = self.sizes.get(place.address, 0)
        return (
            self.size_bytes + size_bytes <= self.share.bytes_max
            and of_address + size_bytes <= self.share.address_bytes_max
        )


class ConnectionShares:
    """The connections of a listener."""

    def __init__(
        self, shares: Mapping[Group, Share] = SHARES, refused: Refused = lambda *_: None
    ) -> None:
        """`refused` is called for each connection that is refused or has to end because it does not fit."""
        self._groups = {group: _Members(share) for group, share in shares.items()}
        self._refused = refused

    def __len__(self) -> int:
        return sum(
            len(places) for members in self._groups.values() for places in members.places.values()
        )

    def size_bytes(self, group: Group) -> int:
        """What the connections of a group take."""
        return self._groups[group].size_bytes

    def admit(self, address: str) -> Place | None:
        """A new connection of an unknown client; None if it has to end before its TLS handshake, because its address has its
        part with small connections.

        At an address from which known clients connect too, such as that of kube-apiserver, another connection ends instead.
        """
        unknown = self._groups[Group.UNKNOWN]
        place = Place(address)
        unknown.add(place)
        shared = any(
            address in members.places
            for group, members in self._groups.items()
            if group is not Group.UNKNOWN
        )
        while (crowded := unknown.crowded(address)) is not None:
            first = self._first_to_end(unknown, crowded)
            if crowded == address and not shared and first.size_bytes <= SMALL_BYTES:
                self.leave(place)
                self._refused(Reason.CONNECTIONS, address)
                return None
            self._end(first)
            if place.size_bytes == 0:
                return None
        return place

    def resize(self, place: Place) -> bool:
        """It has received something, or has answered a request. False if it takes too much and has to end."""
        if place.size_bytes == 0:
            return False
        members = self._groups[place.group]
        members.resize(place, place.needed_bytes())
        while (crowded := members.crowded(place.address)) is not None:
            first = self._first_to_end(members, crowded)
            if (
                crowded == place.address
                and not first.is_idle
                and place.size_bytes >= first.size_bytes
            ):
                self._refused(Reason.MEMORY, place.address)
                return False
            self._end(first)
        return True

    def move(self, place: Place, group: Group) -> bool:
        """More is known of the client now. False if it does not fit into that group: then nothing changes."""
        if place.size_bytes == 0 or not self._groups[group].fits(place):
            return False
        self._groups[place.group].remove(place)
        place.group = group
        self._groups[group].add(place)
        return True

    def leave(self, place: Place) -> None:
        """The connection has ended."""
        self._groups[place.group].remove(place)

    def _end(self, place: Place) -> None:
        self.leave(place)
        self._refused(Reason.MEMORY, place.address)
        place.close()

    @staticmethod
    def _first_to_end(members: _Members, address: str) -> Place:
        """The oldest of those that take most; if they are small, the oldest idle one."""
        places = members.places[address]
        largest = max(places, key=lambda place: place.size_bytes)
        if largest.size_bytes > SMALL_BYTES:
            return largest
        return next((place for place in places if place.is_idle), largest)

"""PURE: why a client is refused that is not wrong, but takes too much."""

from collections.abc import Callable
from enum import Enum


class Reason(Enum):
    """What a client took too much of."""

    CONNECTIONS = "connections"
    """A new connection, which was closed: its address has its part."""
    MEMORY = "memory"
    """Memory: the connection that takes most was closed, or its request refused."""
    HEADERS = "headers"
    """Bytes of a request line and headers."""
    TIME = "time"
    """Time for the handshake, to send the headers, or to read the response."""
    REVIEWS = "reviews"
    """Reviews of kube-apiserver that wait."""


Refused = Callable[[Reason, str], object]
"""Called with the address of the client."""

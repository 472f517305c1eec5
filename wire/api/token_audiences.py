"""The audiences that a token names: the servers for which it was issued (`aud` of RFC 7519).

Nothing is verified here. Only a TokenReview says whether a token is valid for an audience; what the token itself says
decides which audience to ask about, and whether a token is one that may be sent to a server at all.
"""

import base64
import binascii

import msgspec


class _Claims(msgspec.Struct, frozen=True):
    aud: str | list[str] = []


def audiences_of(token: str) -> frozenset[str]:
    """What the token says; nothing if it is not a JSON Web Token."""
    parts = token.split(".")
    if len(parts) != 3:
        return frozenset()
    try:
        # JSON Web Tokens leave out the padding, which Python requires.
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        payload = base64.b64decode(padded, altchars=b"-_", validate=True)
        # Not with `kube_json`: clients that are not authenticated must not take the time that an unusual document takes there.
        found = msgspec.json.decode(payload, type=_Claims).aud
    except (binascii.Error, ValueError, RecursionError):
        return frozenset()
    return frozenset([found] if isinstance(found, str) else found)

"""What a label's key and value may look like (`k8s.io/apimachinery/pkg/api/validate/content` v0.36.3)."""

import re
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_MAX_BYTES: Final = 63
_SUBDOMAIN_MAX_BYTES: Final = 253

_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '"
    + _NAME
    + "')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(" + _NAME + ")?')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '"
    + _SUBDOMAIN
    + "')"
)


LABEL_NAME: Final = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_KEY: Final = rf"(?:{_SUBDOMAIN.replace('(', '(?:')}/)?{LABEL_NAME}"
"""Valid, if what is before the slash is not too long."""
_KEY: Final = re.compile(LABEL_KEY)
_VALUE: Final = re.compile(f"(?:{LABEL_NAME})?")


def has_short_prefix(key: str) -> bool:
    """Whether what is before the slash is not too long."""
    return key.find("/") <= _SUBDOMAIN_MAX_BYTES


def problems_of_key(key: str) -> list[str]:
    """What is wrong with a label key such as `app` or `example.com/app`; nothing when it is valid."""
    return [] if _KEY.fullmatch(key) and has_short_prefix(key) else _problems_by_rule(key)


def _problems_by_rule(key: str) -> list[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        example = "(e.g. 'example.com/MyName')"
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' {example}"
        ]
    problems = (
        [f"prefix part {problem}" for problem in _problems_of_prefix(prefix)] if slash else []
    )
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode()) > _NAME_MAX_BYTES:
        problems.append(f"name part must be no more than {_NAME_MAX_BYTES} bytes")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_NAME_RULE}")
    return problems


def problems_of_value(value: str) -> list[str]:
    """What is wrong with a label value; the empty text is a value."""
    if _VALUE.fullmatch(value):
        return []
    problems = []
    if len(value.encode()) > _NAME_MAX_BYTES:
        problems.append(f"must be no more than {_NAME_MAX_BYTES} bytes")
    if value and not re.fullmatch(_NAME, value):
        problems.append(_VALUE_RULE)
    return problems


def _problems_of_prefix(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if len(prefix.encode()) > _SUBDOMAIN_MAX_BYTES:
        problems.append(f"must be no more than {_SUBDOMAIN_MAX_BYTES} bytes")
    if not re.fullmatch(_SUBDOMAIN, prefix):
        problems.append(_SUBDOMAIN_RULE)
    return problems

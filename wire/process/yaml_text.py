"""Documents as YAML that every program reads alike: those of YAML 1.1 and 1.2, and Go's, such as kubectl.

PyYAML leaves text without quotes that only it reads as text: `1e3` is a number in Go and in YAML 1.2, and `y` is a boolean in Go
and in YAML 1.1.
"""

import re
from typing import Final

import yaml

# The tag is never written: text that resolves to another one than that of text is quoted.
_SOMETHING_ELSE: Final = "!something-else"
_READ_OTHERWISE: Final = re.compile(
    r"""(?: y | n
    | [-+]? (?: 0[box][0-9a-f_]+ | (?: [0-9][0-9_]*\.?[0-9_]* | \.[0-9][0-9_]* ) (?: e[-+]?[0-9_]+ )? | \.inf )
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (?: [t\ ].* )?
    )\Z""",
    re.VERBOSE | re.IGNORECASE,
)


class _Dumper(yaml.SafeDumper):
    """PyYAML's own, with more text in quotes."""


_Dumper.add_implicit_resolver(_SOMETHING_ELSE, _READ_OTHERWISE, None)


def as_yaml(*documents: object) -> str:
    """In wide lines: a folded sentence cannot be searched for."""
    shown: str = yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000
    )
    return shown

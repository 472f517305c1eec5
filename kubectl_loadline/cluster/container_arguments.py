"""Pure: the arguments with which the kubelet starts a program, each flag in one word."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

# The subcommand that starts the scaler, and follows a boolean flag without being its value.
_SUBCOMMAND: Final = "run"
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]+)\))")


def in_one_word(arguments: Sequence[str]) -> Iterator[str]:
    """`--flag value` as `--flag=value`, and the name of the flag with hyphens."""
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if re.fullmatch(r"--[\w-]+", name):
            if not equals and words and words[0] != _SUBCOMMAND and not words[0].startswith("-"):
                equals, value = "=", words.pop(0)
            word = f"{name.replace('_', '-')}{equals}{value}"
        yield word


def expanded(words: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """`$(NAME)` with the value of the variable, `$$` as `$`; a variable that is not known stays (`Expand` of the kubelet)."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return variables.get(match[1], match[0])

    return tuple(_REFERENCE.sub(value, word) for word in words)


def variables_of(given: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The values of a container's variables, which may refer to those before; without those that are not known, None."""
    found: dict[str, str] = {}
    for name, value in given:
        if value is None:
            found.pop(name, None)
        else:
            [found[name]] = expanded([value], found)
    return found

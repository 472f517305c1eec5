"""Pure: metrics in the words of Prometheus, `queue_length{queue="mail"}`, where the HPA prints a Go struct."""

import re
from collections.abc import Iterator
from typing import Final

from scaler.algorithm.derivation import Derivation
from scaler.algorithm.history import Extensions
from scaler.algorithm.why import explain

# What `wire.api.meta.go_string` prints. Keys and values of labels contain no braces, commas, colons or spaces.
_STRUCT: Final = (
    r"&LabelSelector\{MatchLabels:map\[string\]string\{(?P<%s>[^{}]*)\},"
    r"MatchExpressions:\[\]LabelSelectorRequirement\{(?P<%s>(?:LabelSelectorRequirement\{[^{}]*\},)*)\},\}"
)
_SELECTOR: Final = re.compile(
    rf"(?<=\w)(?:\((?:nil|{_STRUCT % ('labels', 'requirements')})\)"
    rf"|/{_STRUCT % ('labels_of_path', 'requirements_of_path')})"
)
_REQUIREMENT: Final = re.compile(r"Key:([^,]*),Operator:(\w*),Values:\[([^\]]*)\]")
_LABEL_NAME: Final = re.compile(r"[a-zA-Z_]\w*")


def explained(derivation: Derivation, extensions: Extensions) -> str:
    """The explanation of a decision for people who write PromQL."""
    return in_prometheus_words(explain(derivation, extensions))


def in_prometheus_words(text: str) -> str:
    """`queue(&LabelSelector{...})` as `queue{label="value"}`, and `queue(nil)` as `queue`."""
    return _SELECTOR.sub(_matchers, text)


def _matchers(found: re.Match[str]) -> str:
    labels = found["labels"] or found["labels_of_path"] or ""
    requirements = found["requirements"] or found["requirements_of_path"] or ""
    matchers = ",".join([*_equalities(labels), *_others(requirements)])
    return f"{{{matchers}}}" if matchers else ""


def _equalities(labels: str) -> Iterator[str]:
    for each in filter(None, labels.split(",")):
        name, _, value = each.partition(": ")
        yield f'{_quoted(name)}="{value}"'


def _others(requirements: str) -> Iterator[str]:
    for name, operator, values in _REQUIREMENT.findall(requirements):
        alternatives = "|".join(each.replace(".", "\\\\.") for each in values.split(" "))
        matcher = {
            "In": f'=~"{alternatives}"',
            "NotIn": f'!~"{alternatives}"',
            "Exists": '!=""',
            "DoesNotExist": '=""',
        }
        yield f"{_quoted(name)}{matcher[operator]}"


def _quoted(name: str) -> str:
    """As Prometheus 3 writes the name of a label that is not one of PromQL's identifiers."""
    return name if _LABEL_NAME.fullmatch(name) else f'"{name}"'

"""The patterns of the LoadAutoscaler CRD accept exactly the quantities that an HPA may have.

CEL could compare quantities, but before Kubernetes 1.34 such a rule exceeds the cost limit of a field that may be an
integer or a string, and the API server refuses the CRD.
"""

from pathlib import Path
from typing import Any

import re2
from hypothesis import example, given
from hypothesis import strategies as st

from wire.api.quantity import Quantity
from wire.process import go_yaml

CRD = Path(__file__).parents[3] / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"
quantities = st.from_regex(
    r"\A[+-]?([0-9]{1,4}(\.[0-9]{0,4})?|\.[0-9]{1,4})(([KMGTPE]i|[numkMGTPE])|[eE][+-]?0{0,20}([0-9]{1,18}|[1-9][0-9]{19,30}))?\Z"
)


def pattern(*path: str) -> str:
    """The pattern of a field of `spec`, by its names; `items` are the items of a list."""
    (version,) = go_yaml.load(CRD.read_text())["spec"]["versions"]
    schema: Any = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for name in path:
        schema = schema["items"] if name == "items" else schema["properties"][name]
    return str(schema["pattern"])


TARGET = re2.compile(pattern("metrics", "items", "external", "target", "averageValue"))
TOLERANCE = re2.compile(pattern("behavior", "scaleUp", "tolerance"))


ZERO = Quantity.from_int(0)


def quantity_or_none(text: str) -> Quantity | None:
    """The value, as Kubernetes reads it; None if the text is not a quantity.

    Kubernetes reads a text without digits, such as `+`, as 0; the CRD refuses it as a tolerance too. An exponent is an
    int64 there, and has at most 18 digits here.
    """
    try:
        return Quantity.parse(text)
    except ValueError:
        return None


@given(text=quantities)
@example(text="0")
@example(text="0.")
@example(text=".")
@example(text="00.10")
@example(text="1e-9")
@example(text="1e9999999999999999999")
@example(text="1e-999999999999999999")
def test_a_target_is_accepted_if_and_only_if_it_is_a_positive_quantity(text):
    accepted = TARGET.search(text) is not None
    assert accepted == ((quantity_or_none(text) or ZERO) > ZERO)


@given(text=quantities)
@example(text="0")
@example(text="0m")
@example(text="1e" + "9" * 62)
@example(text="1e" + "0" * 61 + "3")
def test_a_tolerance_is_accepted_if_and_only_if_it_is_an_unsigned_quantity(text):
    accepted = TOLERANCE.search(text) is not None
    assert accepted == (quantity_or_none(text) is not None and not text.startswith("-"))


def test_no_rule_parses_a_quantity():
    assert "quantity(" not in CRD.read_text()

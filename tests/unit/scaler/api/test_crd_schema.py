"""The CRD repeats some parts of its schema; repeated parts must stay equal, and match the structs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scaler.api import extension_spec as extensions
from scaler.api.autoscaler import Autoscaler
from scaler.api.history import History
from scaler.api.json_object import JsonObject
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.api.schedules import Calendar, CalendarKind
from scaler.cluster.memories.scaling_memory import KIND, PLURAL, StoredHistory
from scaler.cluster.status import LoadAutoscalerStatus
from scaler.extensions import DECIDING
from scaler.extensions.candidate.state import StoredCandidate
from wire.process import go_yaml

CRD = Path(__file__).parents[4] / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"


@pytest.fixture(scope="module")
def crd() -> Any:
    """The whole document."""
    return go_yaml.load(CRD.read_text())


@pytest.fixture(scope="module")
def schema(crd: Any) -> Any:
    """The schema of its one version."""
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize("field", ["target", "selector", "current"])
def test_every_metric_describes_this_field_equally(schema: Any, field: str) -> None:
    found = [value for name, value in properties(schema) if name == field]
    assert len(found) > 4
    assert all(each == found[0] for each in found)


def test_it_is_the_kind_that_the_scaler_watches(crd: Any) -> None:
    names = crd["spec"]["names"]
    assert (names["kind"], names["plural"]) == (LOAD_AUTOSCALERS.kind, LOAD_AUTOSCALERS.plural)
    assert crd["metadata"]["name"] == f"{LOAD_AUTOSCALERS.plural}.{LOAD_AUTOSCALERS.group}"
    assert [each["name"] for each in crd["spec"]["versions"]] == [LOAD_AUTOSCALERS.version]


def test_nothing_unknown_is_kept(schema: Any) -> None:
    assert "x-kubernetes-preserve-unknown-fields" not in CRD.read_text()
    assert all("type" in value or "anyOf" in value for _, value in properties(schema))


@pytest.mark.parametrize("struct", [Autoscaler, LoadAutoscalerStatus], ids=lambda s: s.__name__)
def test_every_field_that_the_scaler_reads_or_writes_is_in_the_schema(
    schema: Any, struct: type[msgspec.Struct]
) -> None:
    """The API server drops what the schema does not have."""
    part = schema if struct is Autoscaler else schema["properties"]["status"]
    fields = "history" in struct.__struct_fields__
    checked = with_typed_history(struct) if fields else struct
    components = msgspec.json.schema_components([checked])[1]
    assert missing(components, components[struct.__name__], part) == []


def test_every_field_of_a_scaling_memory_is_in_its_schema() -> None:
    document = go_yaml.load(CRD.with_name("scalingmemories.yaml").read_text())
    names = document["spec"]["names"]
    assert (names["kind"], names["plural"]) == (KIND, PLURAL)
    part = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    stored = part["properties"]["histories"]["additionalProperties"]
    # An HPA has no extensions.
    checked = typed(StoredHistory, (), without=("extensions", "states", "forecast", "candidate"))
    components = msgspec.json.schema_components([checked])[1]
    assert missing(components, components["StoredHistory"], stored) == []


def with_typed_history(struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The status, in which the states of extensions have their types."""
    states = [(each.stored_as, each.state_type | None, None) for each in DECIDING if each.stored_as]
    inside = [("extensions", msgspec.defstruct("States", states) | None, None)]
    # The memory of the spec says who scaled to zero, and a candidate has neither a forecast nor a candidate.
    unset = ("scaled_to_zero", "forecast", "candidate")
    candidate = typed(StoredCandidate, inside, without=("extensions", *unset))
    history = typed(
        History,
        [*inside, ("candidate", candidate | None, None)],
        without=("extensions", "candidate"),
    )
    return typed(struct, [("history", history | None, None)], without=("history",))


def typed(
    struct: type[msgspec.Struct], fields: Any, *, without: tuple[str, ...]
) -> type[msgspec.Struct]:
    """The same struct, with some fields replaced."""
    kept = [
        (each.name, each.type, None)
        for each in msgspec.structs.fields(struct)
        if each.name not in without
    ]
    return msgspec.defstruct(struct.__name__, [*kept, *fields], rename="camel", kw_only=True)


def missing(components: Any, crd: Any, upstream: Any, path: str = "") -> list[str]:
    """Paths of the fields of `crd` that `upstream` lacks."""
    for option in (crd, *crd.get("anyOf", ())):
        if "$ref" in option:
            return missing(components, components[option["$ref"].rsplit("/", 1)[1]], upstream, path)
        if option.get("type") == "array" and "$ref" in option.get("items", {}):
            return missing(components, option["items"], upstream["items"], path + "[]")
    found = []
    for name, field in crd.get("properties", {}).items():
        if path == "" and name in ("metadata", "status") and "spec" in upstream["properties"]:
            continue
        if name not in upstream["properties"]:
            found.append(f"{path}.{name}")
        else:
            found += missing(components, field, upstream["properties"][name], f"{path}.{name}")
    return found


def properties(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every property at any depth, with its name."""
    for name, value in schema.get("properties", {}).items():
        yield name, value
        yield from properties(value)
    if "items" in schema:
        yield from properties(schema["items"])


def test_every_field_that_an_hpa_lacks_is_documented() -> None:
    documentation = (CRD.parents[4] / "docs" / "loadautoscaler.md").read_text()
    structs = [each for each in vars(extensions).values() if is_field_struct(each)]
    assert len(structs) > 6
    names = {name for each in structs for name in each.__struct_encode_fields__}
    assert sorted(name for name in names if f"`{name}`" not in documentation) == []


def is_field_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, JsonObject) and value is not JsonObject


def test_the_calendars_have_the_fields_and_kinds_that_the_scaler_reads() -> None:
    components = msgspec.json.schema_components([Calendar])[1]
    found = list(go_yaml.load_all(CRD.with_name("scalingcalendars.yaml").read_text()))
    assert [each["spec"]["names"]["kind"] for each in found] == list(CalendarKind)
    for each in found:
        schema = each["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert missing(components, components["Calendar"], schema) == []
        kind = CalendarKind(each["spec"]["names"]["kind"])
        assert kind.collection("").endswith(f"/{each['spec']['names']['plural']}")
        namespaced = each["spec"]["scope"] == "Namespaced"
        assert ("/namespaces/shop/" in kind.collection("shop")) == namespaced

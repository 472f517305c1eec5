"""The CustomResourceDefinitions have the fields, and allow the values, of every object in the documents."""

from pathlib import Path

from tests.crd_schema import Schema, unknown_fields, violations
from tests.documented_autoscalers import whole_object
from tests.documented_blocks import ROOT
from wire.process import go_yaml

CRDS = ROOT / "charts" / "scaler" / "files" / "crds"


def schema_of(kind: str, files: Path = CRDS) -> Schema:
    """The schema of the kind, in one of the files of the chart."""
    for file in sorted(files.glob("*.yaml")):
        for crd in go_yaml.load_all(file.read_text()):
            if crd["spec"]["names"]["kind"] == kind:
                found: Schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
                return found
    raise LookupError(kind)


def test_the_fields_and_values_are_in_the_schema(documented_block):
    found = whole_object(documented_block)
    schema = schema_of(found["kind"])
    spec = schema["properties"]["spec"]
    assert unknown_fields(found["spec"], spec) == []
    assert violations(found["spec"], spec) == []

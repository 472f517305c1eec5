"""The Scale of an object as the object itself shows it."""

import json

import msgspec
import pytest

from scaler.cluster.scale_of_object import (
    BUILT_IN,
    of_custom_resources,
    of_replication_controller,
    of_workload,
)
from tests.traced_memory import traced_memory

METADATA = {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}
PATHS = {
    "specReplicasPath": ".spec.size.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def definition(paths=PATHS, *, version="v1"):
    versions = [
        {"name": "v1alpha1", "subresources": {"status": {}}},
        {"name": version, "subresources": {"scale": paths} if paths else {}},
        {"name": "v3"},
    ]
    return json.dumps({"spec": {"versions": versions}}).encode()


def body(spec, status=None):
    document = {"metadata": METADATA, "spec": spec}
    return json.dumps(document if status is None else {**document, "status": status}).encode()


def shown(scale):
    return scale.spec.replicas, scale.status.replicas, scale.status.selector


SELECTOR = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(
            {"replicas": 3, "selector": SELECTOR}, {"replicas": 2}, (3, 2, "app=web"), id="both"
        ),
        pytest.param({"replicas": 0, "selector": SELECTOR}, {}, (0, 0, "app=web"), id="zero"),
        pytest.param({"replicas": 1, "selector": SELECTOR}, None, (1, 0, "app=web"), id="new"),
        pytest.param(
            {
                "replicas": 1,
                "selector": {
                    "matchLabels": {"b": "2", "a": "1"},
                    "matchExpressions": [
                        {"key": "tier", "operator": "In", "values": ["x", "w"]},
                        {"key": "old", "operator": "DoesNotExist"},
                    ],
                },
            },
            {"replicas": 1},
            (1, 1, "a=1,b=2,!old,tier in (w,x)"),
            id="expressions",
        ),
    ],
)
def test_a_workload_shows_its_scale(spec, status, expected):
    scale = of_workload(body(spec, status))
    assert shown(scale) == expected
    assert (scale.metadata.uid, scale.metadata.resource_version) == ("u1", "7")


def test_a_replication_controller_has_a_map_as_selector():
    found = of_replication_controller(body({"replicas": 2, "selector": {"b": "2", "a": "1"}}))
    assert shown(found) == (2, 0, "a=1,b=2")


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(
            {"size": {"replicas": 3}},
            {"replicas": 2, "selector": "app=web"},
            (3, 2, "app=web"),
            id="everything",
        ),
        pytest.param({"size": {"replicas": 3}}, None, (3, 0, ""), id="without a status"),
        pytest.param({"size": {"replicas": 3}}, {}, (3, 0, ""), id="an empty status"),
        pytest.param(
            {"size": {"replicas": 3, "max": 9}, "replicas": 1},
            {"replicas": 2, "selector": "\u00e4"},
            (3, 2, "\u00e4"),
            id="beside others of the same name",
        ),
    ],
)
def test_a_custom_resource_shows_its_scale_where_its_definition_says(spec, status, expected):
    assert shown(of_custom_resources(definition(), "v1")(body(spec, status))) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.x-labels.the selector", "app=x"),
        (".spec.replicas", None),
        (".spec.none.selector", ""),
        (".metadata.name", None),
    ],
)
def test_a_selector_is_read_wherever_the_definition_says(path, expected):
    paths = {**PATHS, "specReplicasPath": ".spec.replicas", "labelSelectorPath": path}
    spec = {"replicas": 4, "x-labels": {"the selector": "app=x"}, "none": None}
    try:
        found = of_custom_resources(definition(paths), "v1")(body(spec, {"replicas": 2}))
    except (ValueError, msgspec.DecodeError):
        assert expected is None
    else:
        assert shown(found) == (4, 2, expected)


def test_what_else_a_custom_resource_has_is_not_decoded():
    """A user decides what it is: hundreds of kilobytes for each of thousands of objects."""
    others = [[]] * 100_000
    large = body({"size": {"replicas": 3, "x": others}, "x": others}, {"x": others})
    scale_of = of_custom_resources(definition(), "v1")
    with traced_memory() as memory:
        scale = scale_of(large)
        assert memory.peak_bytes < 100_000
    assert shown(scale) == (3, 0, "")


def test_without_a_path_of_a_selector_there_is_none():
    paths = {name: path for name, path in PATHS.items() if name != "labelSelectorPath"}
    found = of_custom_resources(definition(paths), "v1")(body({"size": {"replicas": 1}}, {}))
    assert shown(found) == (1, 0, "")


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        pytest.param({}, {}, id="no replicas, which is an error of the Scale"),
        pytest.param({"size": None}, {}, id="null in place of the object with the replicas"),
        pytest.param({"size": {"replicas": None}}, {}, id="replicas that are null"),
        pytest.param({"size": {"replicas": 1}}, {"replicas": None}, id="a status that is null"),
        pytest.param({"size": {"replicas": 1}}, {"selector": None}, id="a selector that is null"),
        pytest.param({"size": 3}, {}, id="a path through a number"),
        pytest.param({"size": {"replicas": "3"}}, {}, id="replicas that are a text"),
        pytest.param({"size": {"replicas": True}}, {}, id="replicas that are a truth value"),
        pytest.param({"size": {"replicas": 2.5}}, {}, id="a part of a replica"),
        pytest.param({"size": {"replicas": -1}}, {}, id="fewer than none"),
        pytest.param({"size": {"replicas": 2**31}}, {}, id="no int32"),
        pytest.param({"size": {"replicas": 1}}, {"selector": 1}, id="a selector that is a number"),
        pytest.param({"size": {"replicas": 1}}, {"replicas": "1"}, id="a status that is a text"),
    ],
)
def test_what_a_custom_resource_does_not_show_must_be_read(spec, status):
    scale_of = of_custom_resources(definition(), "v1")
    with pytest.raises((ValueError, msgspec.DecodeError)):
        scale_of(body(spec, status))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(definition(None), id="a version without a Scale"),
        pytest.param(definition(version="v2"), id="a version that is not there"),
        pytest.param(b"{}", id="something else"),
    ],
)
def test_a_definition_without_a_scale_shows_nothing(found):
    with pytest.raises((ValueError, msgspec.DecodeError)):
        of_custom_resources(found, "v1")


@pytest.mark.parametrize("scale_of", BUILT_IN.values())
def test_a_workload_without_replicas_must_be_read(scale_of):
    with pytest.raises(msgspec.DecodeError):
        scale_of(body({"selector": {}}))

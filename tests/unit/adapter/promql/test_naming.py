"""Names of metrics and labels of resources. The comparison with prometheus-adapter is in tests/conformance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.model import PODS, GroupResource, ResourceLabels
from adapter.promql.naming import NoLabel, ResourceConverter, expand, label_pattern
from adapter.promql.regex import pattern
from tests.fakes.adapter import FakeMapping

words = st.text(alphabet="abcxyz_019", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("template", "name"),
    [
        pytest.param("$1_x", "", id="the longest name wins, and 1_x is not a group"),
        pytest.param("${1}_x", "http_x", id="braces end a name"),
        pytest.param("$0", "http_total", id="the whole match"),
        pytest.param("$$1", "$1", id="an escaped dollar"),
        pytest.param("$nothing-$word", "-http", id="unknown groups are empty, named ones are not"),
        pytest.param("a$", "a$", id="a lone dollar stays"),
        pytest.param("${1", "${1", id="an open brace stays"),
        pytest.param("$01", "", id="leading zeros make no number"),
    ],
)
def test_names_expand_as_go_expands_them(template, name):
    match = pattern("^(?P<word>.*)_total$").search("http_total")
    assert match is not None
    assert expand(template, match) == name


@given(words)
def test_a_text_with_its_dollars_doubled_expands_to_itself(text):
    match = pattern(".*").search("series")
    assert match is not None
    written = f"{text}$-{text}$"
    assert expand(written.replace("$", "$$"), match) == written


@given(words, words)
def test_braced_groups_expand_to_what_they_matched(first, second):
    match = pattern("^([^-]*)-([^-]*)$").search(f"{first}-{second}")
    assert match is not None
    assert expand("${2}${1}", match) == second + first


@pytest.mark.deviation("repeated-group-names")
@pytest.mark.parametrize(("series", "name"), [("ax", "a"), ("bx", "")])
def test_of_two_groups_with_one_name_the_first_one_is_used(series, name):
    match = pattern("^(?P<n>a)?(?P<n>b)?x$").search(series)
    assert match is not None
    assert expand("${n}", match) == name


@pytest.mark.deviation("any-byte-patterns")
@pytest.mark.parametrize("text", [r"(?=x)", "a**", "[", r"\C", r"(a)\1"])
def test_what_go_cannot_compile_is_refused_with_a_reason(text):
    with pytest.raises(ValueError, match=r".+"):
        pattern(text)


def test_overrides_win_over_the_template():
    converter = ResourceConverter(
        ResourceLabels(template="<<.Resource>>", overrides=(("pod_name", PODS),)), FakeMapping()
    )
    assert converter.label_for(PODS) == "pod_name"
    assert converter.resource_for("pod_name") == PODS
    assert converter.resource_for("service") == GroupResource("services")


@pytest.mark.deviation("override-conflicts")
@pytest.mark.parametrize(
    ("labels", "used"), [(("pod", "pod_name"), "pod_name"), (("pod_name", "pod"), "pod")]
)
def test_of_two_overrides_to_one_resource_the_last_one_is_used(labels, used):
    converter = ResourceConverter(
        ResourceLabels(overrides=tuple((each, PODS) for each in labels)), FakeMapping()
    )
    assert converter.label_for(PODS) == used


def test_a_label_round_trips_through_a_template_with_a_group():
    converter = ResourceConverter(
        ResourceLabels(template="kube_<<.Group>>_<<.Resource>>"), FakeMapping()
    )
    deployments = GroupResource("deployments", "apps")
    assert converter.label_for(deployments) == "kube_apps_deployment"
    assert converter.resource_for("kube_apps_deployment") == deployments


@pytest.mark.deviation("unknown-override-resources")
def test_an_override_of_an_unknown_resource_is_ignored_and_reported():
    labels = ResourceLabels(
        overrides=(("w", GroupResource("widgets")), ("pod", GroupResource("pod")))
    )
    converter = ResourceConverter(labels, FakeMapping())
    assert converter.unknown == [("w", GroupResource("widgets"))]
    assert converter.resource_for("w") is None
    assert converter.label_for(PODS) == "pod"


def test_a_resource_without_a_label_says_what_to_add():
    with pytest.raises(
        NoLabel, match=r"no label names pods: the rule has no `resources.template` and no override"
    ):
        ResourceConverter(ResourceLabels(), FakeMapping()).label_for(PODS)


def test_a_template_without_the_resource_cannot_be_inverted():
    with pytest.raises(ValueError, match=r"must contain <<\.Resource>>"):
        label_pattern("kube_<<.Group>>")

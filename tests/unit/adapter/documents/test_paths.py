"""Paths and query strings to requests. The comparison with prometheus-adapter's handlers is in tests/conformance."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.documents import paths
from adapter.model import NODES, PODS, GroupResource, KubeObject
from wire.api.status import StatusError


def test_a_namespaced_request_has_all_its_parts():
    query = [("labelSelector", "app=web"), ("metricLabelSelector", "code=200")]
    requested = paths.custom_metric(
        "namespaces/default/deployments.apps/*/requests", query, api_version="v1beta2"
    )
    assert (requested.namespace, requested.resource, requested.name, requested.metric) == (
        "default",
        GroupResource("deployments", "apps"),
        "*",
        "requests",
    )
    assert (str(requested.selector), str(requested.metric_selector), requested.api_version) == (
        "app=web",
        "code=200",
        "v1beta2",
    )


@pytest.mark.parametrize(
    ("path", "namespace", "resource", "name", "metric"),
    [
        pytest.param("nodes/n1/load", "", "nodes", "n1", "load", id="root-scoped"),
        pytest.param(
            "namespaces/shop/metrics/load", "", "namespaces", "shop", "load", id="of a namespace"
        ),
        pytest.param(
            "namespaces/*/metrics/load", "", "namespaces", "*", "load", id="of every namespace"
        ),
        pytest.param(
            "namespaces/shop/pods/p/load/", "shop", "pods", "p", "load", id="a last slash"
        ),
    ],
)
def test_each_form_of_path_is_read(path, namespace, resource, name, metric):
    requested = paths.custom_metric(path, [])
    assert (requested.namespace, str(requested.resource), requested.name, requested.metric) == (
        namespace,
        resource,
        name,
        metric,
    )


@pytest.mark.deviation("empty-path-segments")
@pytest.mark.parametrize(
    ("path", "query", "code", "message"),
    [
        pytest.param(
            "namespaces/shop/load",
            [],
            400,
            "invalid request path",
            id="the confused namespace metric",
        ),
        pytest.param("pods/load", [], 404, "could not find the requested resource", id="too short"),
        pytest.param("namespaces/shop/pods/p/load/more", [], 404, "could not find", id="too long"),
        pytest.param("namespaces//pods/p/load", [], 404, "could not find", id="an empty part"),
        pytest.param(
            "nodes/n/load",
            [("labelSelector", "a===b")],
            400,
            "labelSelector 'a===b'",
            id="a bad label selector",
        ),
        pytest.param(
            "nodes/n/load",
            [("metricLabelSelector", "a in")],
            500,
            "metricLabelSelector 'a in'",
            id="a bad metric selector",
        ),
        pytest.param("nodes/n/load", [("limit", "many")], 400, "whole number", id="a bad limit"),
        pytest.param(
            "nodes/n/load",
            [("fieldSelector", "metadata.name=m")],
            400,
            "doesn't match",
            id="another name",
        ),
    ],
)
def test_a_bad_request_is_answered_with_what_is_wrong(path, query, code, message):
    with pytest.raises(StatusError) as refused:
        paths.custom_metric(path, query)
    assert refused.value.code == code
    assert message in refused.value.message


def test_an_external_metric_cannot_be_watched():
    with pytest.raises(StatusError) as refused:
        paths.external_metric("namespaces/shop/depth", [("watch", "true")])
    assert refused.value.code == 405


@pytest.mark.parametrize(
    ("path", "resource", "namespace", "name"),
    [
        ("nodes", NODES, "", None),
        ("nodes/n1", NODES, "", "n1"),
        ("pods", PODS, "", None),
        ("namespaces/shop/pods", PODS, "shop", None),
        ("namespaces/shop/pods/p", PODS, "shop", "p"),
    ],
)
def test_usage_is_requested_by_resource(path, resource, namespace, name):
    requested = paths.resource_metric(path, [])
    assert (requested.resource, requested.namespace, requested.name) == (resource, namespace, name)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            [("limit", "")], 'strconv.ParseInt: parsing "": invalid syntax', id="an empty number"
        ),
        pytest.param(
            [("limit", "1.5")], 'strconv.ParseInt: parsing "1.5": invalid syntax', id="a fraction"
        ),
        pytest.param([("timeoutSeconds", "9" * 19)], "value out of range", id="more than an int64"),
        pytest.param(
            [("limit", "x"), ("labelSelector", "!!")],
            "strconv.ParseInt",
            id="numbers are read before selectors",
        ),
        pytest.param(
            [("labelSelector", "!!"), ("fieldSelector", "x")],
            "labelSelector '!!'",
            id="labels are read before fields",
        ),
        pytest.param([("timeout", "x")], 'time: invalid duration "x"', id="no duration"),
        pytest.param(
            [("timeout", "5")], 'time: missing unit in duration "5"', id="a duration without unit"
        ),
        pytest.param(
            [("timeout", "5y")], 'time: unknown unit "y" in duration "5y"', id="a duration of years"
        ),
        pytest.param(
            [("fieldSelector", "nonsense")],
            "invalid selector: 'nonsense'; can't understand 'nonsense'",
            id="no field selector",
        ),
        pytest.param(
            [("fieldSelector", "spec.nodeName=n")],
            '"spec.nodeName" is not a known field selector',
            id="an unknown field",
        ),
        pytest.param(
            [("fieldSelector", "metadata.name!=p")],
            "doesn't match requested name",
            id="all but the object",
        ),
    ],
)
def test_list_options_are_refused_in_the_order_and_words_of_prometheus_adapter(query, message):
    with pytest.raises(StatusError) as refused:
        paths.custom_metric("namespaces/shop/pods/p/load", query)
    assert (refused.value.code, message in refused.value.message) == (400, True), (
        refused.value.message
    )


@pytest.mark.deviation("list-options")
@pytest.mark.parametrize(
    "query",
    [
        [("fieldSelector", "metadata.name=p")],
        [("limit", "+5")],
        [("timeout", "1m")],
        [("watch", "true")],
        [("resourceVersionMatch", "Exact")],
        [("sendInitialEvents", "true")],
    ],
)
def test_options_without_effect_are_accepted(query):
    assert paths.custom_metric("namespaces/shop/pods/p/load", query).name == "p"


@pytest.mark.deviation("list-options")
@pytest.mark.parametrize(
    "query", [[("resourceVersionMatch", "Exact")], [("sendInitialEvents", "true")]]
)
def test_options_that_only_a_watch_has_are_accepted_for_external_metrics_and_usage(query):
    assert paths.external_metric("namespaces/shop/depth", query).metric == "depth"
    assert paths.resource_metric("pods", query).resource == PODS


@pytest.mark.deviation("newer-validation-words")
def test_a_label_that_is_too_long_is_refused_in_the_words_of_current_apimachinery():
    with pytest.raises(StatusError, match="must be no more than 63 bytes"):
        paths.custom_metric("nodes/n/load", [("labelSelector", f"a={'x' * 64}")])


@pytest.mark.parametrize("value", ["true", "1", "", "maybe"])
def test_usage_cannot_be_watched(value):
    with pytest.raises(StatusError, match=r'kind "pods\.metrics\.k8s\.io"') as refused:
        paths.resource_metric("pods", [("watch", value)])
    assert refused.value.code == 405


def test_a_selector_is_not_even_read_where_one_object_is_named():
    assert paths.resource_metric("nodes/n1", [("labelSelector", "!!")]).selector.is_empty()


@given(
    st.text(max_size=30),
    st.lists(
        st.tuples(
            st.sampled_from(["labelSelector", "metricLabelSelector", "limit", "watch"]),
            st.text(max_size=12),
        ),
        max_size=3,
    ),
)
def test_no_path_and_no_query_breaks_the_parser(path, query):
    for read in (paths.custom_metric, paths.external_metric, paths.resource_metric):
        with contextlib.suppress(StatusError):
            read(path, query)


@pytest.mark.parametrize(
    ("fields", "passing"),
    [
        pytest.param("", ["one/a", "two/a", "two/b"], id="none"),
        pytest.param("metadata.name=a", ["one/a", "two/a"], id="a name"),
        pytest.param(
            "metadata.name==a,metadata.namespace!=one", ["two/a"], id="and not a namespace"
        ),
        pytest.param("metadata.name=a,metadata.name=b", [], id="two names at once"),
    ],
)
def test_the_usage_of_pods_is_restricted_by_fields_as_for_kubectl_top(fields, passing):
    terms = paths.resource_metric("pods", [("fieldSelector", fields)]).fields
    pods = [
        KubeObject(name=n, namespace=ns) for ns, n in (("one", "a"), ("two", "a"), ("two", "b"))
    ]
    matching = [pod for pod in pods if all(term.matches(pod) for term in terms)]
    assert [f"{pod.namespace}/{pod.name}" for pod in matching] == passing

"""What docs/charts.md says about names: releases of one chart in several namespaces."""

import pytest


def cluster_scoped(rendered):
    return {
        f"{each['kind']} {each['metadata']['name']}"
        for each in rendered.manifests
        if "namespace" not in each["metadata"]
        and each["kind"] not in {"APIService", "CustomResourceDefinition"}
    }


def test_releases_with_different_names_share_no_object_of_the_cluster(chart):
    first = cluster_scoped(chart.render(release="first", namespace="one"))
    second = cluster_scoped(chart.render(release="second", namespace="two"))
    assert first
    assert not first & second


@pytest.mark.parametrize("kind", ["ClusterRole", "ClusterRoleBinding"])
def test_releases_with_the_same_name_would_share_objects_of_the_cluster(chart, kind):
    first = cluster_scoped(chart.render(release="same", namespace="one"))
    second = cluster_scoped(chart.render(release="same", namespace="two"))
    assert [each for each in first & second if each.startswith(f"{kind} ")]

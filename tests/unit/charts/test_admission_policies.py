"""Admission policies of both charts: when they exist, for which user, and under which name. tests/e2e shows what they reject."""

import pytest

KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
PATCHES_PODS = {"rbac": {"podDeletionCost": True}}


def policies(rendered):
    return [manifest for kind in KINDS for manifest in rendered.of(kind)]


@pytest.fixture
def values(chart):
    """With them, the program may patch objects."""
    return PATCHES_PODS if chart.path.name == "scaler" else {}


def test_a_policy_is_for_the_service_account_of_the_pod_only(chart, values):
    named = {**values, "serviceAccount": {"name": "mine"}, "namespaceOverride": "elsewhere"}
    rendered = chart.render(named)
    policy, binding = policies(rendered)
    assert rendered.pod["serviceAccountName"] == "mine"
    assert [each["expression"] for each in policy["spec"]["matchConditions"]] == [
        "request.userInfo.username == 'system:serviceaccount:elsewhere:mine'"
    ]
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"] == {
        "policyName": policy["metadata"]["name"],
        "validationActions": ["Deny"],
    }


def test_releases_of_different_namespaces_have_policies_of_different_names(chart, values):
    """The names of policies are global."""
    names = {
        policy["metadata"]["name"]
        for release in ("r", "s")
        for namespace in ("", "elsewhere")
        for policy in chart.render({**values, "namespaceOverride": namespace}, release=release).of(
            "ValidatingAdmissionPolicy"
        )
    }
    assert len(names) == 4


@pytest.mark.parametrize(
    ("kubernetes", "choice", "created"),
    [
        pytest.param("v1.30.0", None, True, id="the first version that has the kind"),
        pytest.param("v1.31.4-gke.1372000", None, True, id="a version of a provider"),
        pytest.param("v1.29.15", None, False, id="a version that does not have it"),
        pytest.param("v1.36.0", False, False, id="refused"),
        pytest.param("v1.29.15", True, True, id="demanded"),
    ],
)
def test_a_policy_is_created_where_kubernetes_has_the_kind(
    chart, values, kubernetes, choice, created
):
    rbac = {**values.get("rbac", {}), "admissionPolicy": choice}
    rendered = chart.render({"rbac": rbac}, kubernetes=kubernetes)
    assert len(policies(rendered)) == (2 if created else 0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("adapter", {"tls": {"managed": False}}, id="adapter: not managed"),
        pytest.param("adapter", {"certManager": {"enabled": True}}, id="adapter: cert-manager"),
        pytest.param("adapter", {"apiServices": {"custom": "never"}}, id="adapter: no API"),
        pytest.param("adapter", {"rbac": {"create": False}}, id="adapter: no roles"),
        pytest.param("scaler", {}, id="scaler: default values"),
        pytest.param("scaler", {"rbac": {"create": False, "podDeletionCost": True}}, id="no roles"),
        pytest.param(
            "scaler", {**PATCHES_PODS, "watch": "horizontalpodautoscalers"}, id="scaler: HPAs"
        ),
    ],
)
def test_a_program_that_may_patch_nothing_needs_no_policy(request, name, values):
    assert policies(request.getfixturevalue(name).render(values)) == []

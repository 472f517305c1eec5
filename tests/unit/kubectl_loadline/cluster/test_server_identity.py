"""Which certificate a program must have before the user's credentials are sent to it."""

import base64

import pytest

from kubectl_loadline.cluster.connecting import Unreachable
from kubectl_loadline.cluster.programs import adapter_of, scaler_of
from kubectl_loadline.cluster.server_identity import identity_of_adapter, identity_of_scaler
from scaler.api.kinds import LOAD_AUTOSCALERS
from tests.unit.kubectl_loadline.cluster.test_programs import (
    CUSTOM,
    EXTERNAL,
    deployment,
    register,
    session,
)
from wire.api.status import forbidden

CA = "-----BEGIN CERTIFICATE-----\n"
BUNDLE = base64.b64encode(CA.encode()).decode()
CONFIG_MAP = "/api/v1/namespaces/monitoring/configmaps/certificates"
FLAG = "--certificate-config-map=monitoring/certificates"


async def adapter_behind(*registered):
    """The identity of the adapter, which each of these (name, spec) registers."""
    cluster = session(deployment("adapter"))
    for name, spec in registered:
        register(cluster, name, selector={"app": "adapter"}, **spec)
    return await identity_of_adapter(cluster, await adapter_of(cluster, ""))


async def test_the_adapter_is_verified_as_kube_apiserver_verifies_it():
    found = await adapter_behind((EXTERNAL, {"caBundle": BUNDLE}))
    assert (found.ca_pem, found.server_name) == (CA, "loadline-adapter.monitoring.svc")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="no caBundle"),
        pytest.param({"insecureSkipTLSVerify": True}, id="not verified"),
        pytest.param({"caBundle": BUNDLE, "insecureSkipTLSVerify": True}, id="both"),
    ],
)
async def test_an_adapter_that_kube_apiserver_does_not_verify_receives_no_credentials(spec):
    with pytest.raises(Unreachable, match=rf"{EXTERNAL}.*`tls`.*--insecure-skip-tls-verify"):
        await adapter_behind((EXTERNAL, spec))


async def test_one_of_its_apiservices_is_enough():
    found = await adapter_behind(
        (CUSTOM, {"insecureSkipTLSVerify": True}), (EXTERNAL, {"caBundle": BUNDLE})
    )
    assert found.ca_pem == CA


async def test_the_ca_of_another_server_does_not_verify_an_adapter_that_the_user_names():
    cluster = session(deployment("adapter"))
    register(cluster, EXTERNAL, "keda/keda-operator-metrics-apiserver", caBundle=BUNDLE)
    path = "/apis/apps/v1/namespaces/monitoring/deployments/mine"
    cluster.client.serve(path, deployment("adapter", name="mine"))
    with pytest.raises(Unreachable, match="no APIService of a metrics API points to it"):
        await identity_of_adapter(cluster, await adapter_of(cluster, "monitoring/mine"))


async def scaler_with(config_map, *flags):
    cluster = session(deployment("scaler", *flags))
    cluster.client.answers[CONFIG_MAP] = config_map
    return await identity_of_scaler(cluster, await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", ""))


async def test_the_scaler_is_verified_by_the_certificates_that_its_pods_have_published():
    found = await scaler_with(b'{"metadata": {}, "data": {"ca.crt": "PEM"}}', FLAG)
    assert (found.ca_pem, found.server_name) == ("PEM", "localhost")


@pytest.mark.parametrize(
    ("config_map", "flags", "fix"),
    [
        pytest.param(
            b"{}",
            (),
            "--certificate-config-map.*upgrade the release of the scaler chart",
            id="no flag",
        ),
        pytest.param(b'{"metadata": {}}', (FLAG,), "the log of the scaler", id="not published"),
        pytest.param(
            forbidden("cannot get configmaps"), (FLAG,), "loadline-scaler:why", id="forbidden"
        ),
    ],
)
async def test_a_scaler_without_a_published_certificate_receives_no_credentials(
    config_map, flags, fix
):
    with pytest.raises(Unreachable, match=rf"{fix}.*--insecure-skip-tls-verify"):
        await scaler_with(config_map, *flags)

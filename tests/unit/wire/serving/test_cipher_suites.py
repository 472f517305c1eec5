"""--tls-cipher-suites: every name that Kubernetes' components accept (k8s.io/component-base/cli/flag, Go's crypto/tls)."""

import pytest

from wire.serving.options import ServingConfigError, ServingOptions
from wire.serving.tls import ServerTLS

# kube-prometheus' Deployment of prometheus-adapter.
KUBE_PROMETHEUS = [
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
]
OTHERS = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_RC4_128_SHA",
]


def enabled(*suites: str) -> set[str]:
    options = ServingOptions(secure_port=1, tls_cipher_suites=suites)
    return {suite["name"] for suite in ServerTLS(options).context.get_ciphers()}


def test_every_name_that_go_knows_is_accepted():
    names = enabled(*KUBE_PROMETHEUS, *OTHERS)
    assert {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"} <= names


def test_the_suites_of_kube_prometheus_and_no_others_are_enabled():
    names = {name for name in enabled(*KUBE_PROMETHEUS) if not name.startswith("TLS_")}
    assert {"AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"} <= names
    assert len(names) <= len(KUBE_PROMETHEUS)
    assert "DHE-RSA-AES256-GCM-SHA384" not in names


def test_suites_that_openssl_has_none_of_are_reported_with_one_that_it_has():
    with pytest.raises(ServingConfigError, match="TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"):
        enabled("TLS_RSA_WITH_RC4_128_SHA")

"""Which pod and port a URL inside the cluster leads to."""

from pathlib import Path

import msgspec
import pytest

from kubectl_loadline.cluster.service_address import (
    PodPorts,
    Service,
    ServiceAddress,
    forwarded_url,
    only_port,
    pod_port,
    service_address,
    url_at_socket,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://prometheus.monitoring.svc:9090", ("monitoring", "prometheus", 9090)),
        ("http://prometheus.monitoring.svc.cluster.local/prefix", ("monitoring", "prometheus", 80)),
        ("https://prometheus.monitoring.svc", ("monitoring", "prometheus", 443)),
        ("http://prometheus.monitoring:9090", ("monitoring", "prometheus", 9090)),
        ("http://127.0.0.1:9090", None),
        ("http://localhost:9090", None),
        ("https://prometheus.example.com", None),
        ("https://example.com", None),
    ],
)
def test_a_url_names_a_service_or_another_host(url, expected):
    found = service_address(url)
    assert (found and (found.namespace, found.name, found.port)) == expected


def test_only_the_host_and_the_port_are_replaced():
    url = "https://prometheus.monitoring.svc:9090/prefix?tenant=a"
    assert forwarded_url(url, 4321) == "https://127.0.0.1:4321/prefix?tenant=a"


def test_at_a_socket_the_path_and_the_parameters_stay():
    url = url_at_socket("http://prometheus.monitoring.svc:9090/prefix?tenant=a", Path("/tmp/a b"))
    assert url == "http+unix://%2Ftmp%2Fa%20b/prefix?tenant=a"


def service(*ports, name="prometheus"):
    document = {"metadata": {"name": name, "namespace": "m"}, "spec": {"ports": list(ports)}}
    return msgspec.convert(document, Service)


POD = msgspec.convert(
    {"spec": {"containers": [{"ports": [{"name": "web", "containerPort": 9091}]}]}}, PodPorts
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [({"targetPort": 9095}, 9095), ({"targetPort": "web"}, 9091), ({}, 80), ({"targetPort": "x"}, None)],
)  # fmt: skip
def test_the_target_port_is_a_number_or_a_name(target, expected):
    assert pod_port(service({"port": 80, **target}), 80, POD) == expected
    assert pod_port(service({"port": 80, **target}), 81, POD) is None


def test_the_only_service_is_taken_and_of_several_none():
    ports = [{"name": "reloader", "port": 8080}, {"name": "http-web", "port": 9090}]
    expected = ServiceAddress(namespace="m", name="prometheus", port=9090)
    assert only_port([service(*ports)]) == expected
    assert only_port([service(*ports), service(*ports, name="other")]) is None
    assert only_port([]) is None

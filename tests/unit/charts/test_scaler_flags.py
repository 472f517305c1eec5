"""The scaler chart: the scaler starts with every value that the chart accepts."""

import json

import pytest

from scaler.api.upstream import UPSTREAMS
from scaler.runtime.run import parse

HPAS = {"watch": "horizontalpodautoscalers"}


def options(rendered):
    """What the scaler makes of the arguments of its container."""
    command, *flags = rendered.arguments
    assert command == "run"
    return parse(flags)


BOUNDARIES = [
    pytest.param({}, id="default values"),
    *(pytest.param({"syncPeriod": text}, id=text) for text in ("1ns", "0.001us", "0h0.5s", "024h")),
    *(
        pytest.param({name: "0s"}, id=f"{name} 0s")
        for name in ("downscaleStabilization", "cpuInitializationPeriod", "initialReadinessDelay")
    ),
    pytest.param({"tolerance": 0}, id="no tolerance"),
    pytest.param({"tolerance": 10000000}, id="a tolerance that Helm writes as 1e+07"),
    pytest.param({"concurrentSyncs": 1}, id="one reconcile at a time"),
    pytest.param({"concurrentSyncs": 10000000}, id="a count that Helm writes as 1e+07"),
    pytest.param({"logLevel": 10}, id="the highest verbosity"),
    pytest.param({"securePort": 0}, id="no port"),
    pytest.param({"securePort": 65535}, id="the highest port"),
    pytest.param({"adapter": {"service": "a/b"}}, id="a Service"),
    *(
        pytest.param({"adapter": {name: choice}}, id=f"{name} {choice}")
        for name in ("stream", "reconcileOnChange")
        for choice in ("auto", "never", "always", True, False)
    ),
    pytest.param({"prometheus": {"url": "http://p"}}, id="the shortest URL"),
    pytest.param({"prometheus": {"url": "https://u:1@[::1]:9090/p?a=b"}}, id="a long URL"),
    pytest.param({"prometheus": {"url": "http://p.{{ .Release.Namespace }}"}}, id="a template"),
    pytest.param({"sharding": {"enabled": True}}, id="sharding"),
    *(
        pytest.param({**HPAS, "kubernetesVersion": f"1.{each.minor}"}, id=f"1.{each.minor}")
        for each in UPSTREAMS
    ),
]


@pytest.mark.parametrize("values", BOUNDARIES)
def test_the_scaler_starts_with_the_most_extreme_values_that_the_chart_accepts(scaler, values):
    found = options(scaler.render(values))
    if "concurrentSyncs" in values:
        assert found.concurrent_syncs == values["concurrentSyncs"]
    if "tolerance" in values:
        assert found.settings.tolerance == values["tolerance"]
    if "prometheus" in values:
        assert found.prometheus.url.startswith("http")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        *(
            ({"syncPeriod": text}, "syncPeriod")
            for text in ("0s", "0h0m", "0.0s", "00ms", "0.1ns", "-1s", "")
        ),
        ({"prometheus": {"url": "prometheus:9090"}}, r"prometheus\.url"),
        ({"prometheus": {"url": "ftp://prometheus"}}, r"prometheus\.url"),
        ({"prometheus": {"url": "http://"}}, r"prometheus\.url"),
        ({"prometheus": {"url": "{{ .Release.Name }}"}}, r"prometheus\.url"),
        ({**HPAS, "kubernetesVersion": "1.34"}, "kubernetesVersion"),
        ({**HPAS, "kubernetesVersion": "1.38"}, "kubernetesVersion"),
        ({**HPAS, "kubernetesVersion": "v1.36"}, "kubernetesVersion"),
        ({"concurrentSyncs": 0}, "concurrentSyncs"),
        ({"tolerance": -0.1}, "tolerance"),
    ],
)
def test_a_value_with_which_the_scaler_would_not_start_is_rejected(scaler, refused, values, name):
    with pytest.raises(refused, match=name):
        scaler.render(values)


def test_the_chart_knows_the_versions_of_kubernetes_that_the_scaler_knows(scaler):
    schema = json.loads((scaler.path / "values.schema.json").read_text("utf-8"))
    known = schema["properties"]["kubernetesVersion"]["enum"]
    assert sorted(known) == ["", *sorted(f"1.{each.minor}" for each in UPSTREAMS)]

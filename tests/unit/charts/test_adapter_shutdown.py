"""The adapter chart: a pod that stops serves until kube-proxy sends no request to it any more."""

import pytest


def test_a_pod_serves_for_a_while_after_it_was_removed_from_the_endpoints(adapter):
    """At SIGTERM it refuses new connections, and kube-proxy of some node may still send requests to it."""
    assert adapter.render().container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}


@pytest.mark.parametrize("seconds", [0, None])
def test_a_pod_can_stop_at_once(adapter, seconds):
    assert "lifecycle" not in adapter.render({"preStopSleepSeconds": seconds}).container


def test_an_api_server_that_does_not_know_the_sleep_gets_none(adapter):
    """It would drop the field, and refuse a hook without one."""
    assert "lifecycle" not in adapter.render(kubernetes="v1.29.15").container
    assert "lifecycle" in adapter.render(kubernetes="v1.30.0").container


def test_requests_in_progress_get_their_20_seconds_after_the_sleep(adapter):
    rendered = adapter.render()
    slept = rendered.container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert slept + 20 < rendered.pod["terminationGracePeriodSeconds"]


def test_a_sleep_for_which_the_pod_has_no_time_is_reported_with_the_fix(adapter, refused):
    """kube-apiserver refuses the Deployment."""
    with pytest.raises(refused, match="preStopSleepSeconds must be less than"):
        adapter.render({"terminationGracePeriodSeconds": 5})
    quick = adapter.render({"terminationGracePeriodSeconds": 5, "preStopSleepSeconds": 4})
    assert quick.container["lifecycle"] == {"preStop": {"sleep": {"seconds": 4}}}

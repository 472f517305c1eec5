"""Which Prometheus a command reads, and whether it may receive the user's credentials."""

import pytest

from kubectl_loadline.cluster.prometheus_url import prometheus_url
from tests.unit.kubectl_loadline.cluster.test_programs import deployment, session


async def test_credentials_are_not_sent_to_a_prometheus_that_was_found():
    """A label is enough to be found."""
    cluster = session(deployment("adapter"))
    with pytest.raises(ValueError, match="add --prometheus-url"):
        async with prometheus_url(cluster, url="", adapter="", sends_credentials=True):
            pass
    assert cluster.client.requested == []


async def test_a_url_that_the_user_gives_may_receive_them():
    url = "https://prometheus.example.com"
    async with prometheus_url(session(), url=url, adapter="", sends_credentials=True) as found:
        assert found == url

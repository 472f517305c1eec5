"""Which autoscalers are decided from which requests."""

from scaler.cluster.metrics.followers import Followers


def test_an_autoscaler_with_the_same_request_twice_is_forgotten():
    followers = Followers()
    followers.follow("shop/web", ("queue", "queue"))
    followers.forget("shop/web")
    followers.forget("shop/web")
    assert list(followers.of("queue")) == []


def test_an_autoscaler_follows_its_present_requests_only():
    followers = Followers()
    followers.follow("shop/web", ("queue", "queue"))
    followers.follow("shop/web", ("load",))
    assert list(followers.of("queue")) == []
    assert list(followers.of("load")) == ["shop/web"]

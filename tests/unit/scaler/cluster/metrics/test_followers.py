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


def test_a_request_is_not_followed_any_more_when_its_last_autoscaler_has_others():
    followers, unfollowed = Followers(), []
    followers.on_unfollowed = unfollowed.append
    followers.follow("shop/web", ("queue", "load"))
    followers.follow("shop/mail", ("queue",))
    followers.follow("shop/web", ("load", "rate"))
    followers.forget("shop/other")
    assert unfollowed == []
    followers.forget("shop/mail")
    assert unfollowed == ["queue"]
    followers.follow("shop/web", ("load", "load"))
    assert unfollowed == ["queue", "rate"]
    followers.forget("shop/web")
    assert unfollowed == ["queue", "rate", "load"]

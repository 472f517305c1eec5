"""The one request of a TokenReview or SubjectAccessReview."""

import asyncio

import pytest

from tests.fakes import virtual_time
from wire.api.status import Unavailable
from wire.kube.requests import JSON, Writer
from wire.serving.authorization import ACCESS_REVIEWS
from wire.serving.reviews import REVIEW_SECONDS, review


class HangingApiServer(Writer):
    """Takes requests, and responds to none."""

    async def send(self, method, path, *, params=None, accept=JSON, body=None, content_type=JSON, before_each=None):  # fmt: skip
        await asyncio.Event().wait()
        raise AssertionError


def test_a_review_fails_with_the_cause_when_the_api_server_does_not_respond():
    """Otherwise requests of the same client would wait for 65 s, also when the next review would be answered."""

    async def scenario() -> None:
        began_at = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable, match="did not respond to a SubjectAccessReview within"):
            await review(HangingApiServer(), ACCESS_REVIEWS, kind="SubjectAccessReview", spec={})
        assert asyncio.get_running_loop().time() - began_at == REVIEW_SECONDS

    virtual_time.run(scenario())

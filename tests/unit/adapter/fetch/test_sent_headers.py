"""Which of the given headers are sent with a request, and in what form: as by net/http, with which prometheus-adapter sends them."""

import pytest

from adapter.model import Plan

PLAN = Plan("up")


@pytest.fixture
def sent(server, connect):
    """The values of one header of a request, which has given ones."""

    async def of(name: str, *given: tuple[str, str], verb: str = "GET") -> list[str]:
        await connect(headers=given, verb=verb).evaluate(PLAN)
        lines = [line.split(": ", 1) for line in server.requested[-1].lines]
        return [value for sent_name, value in lines if sent_name.lower() == name.lower()]

    return of


@pytest.mark.parametrize("name", ["Host", "host"])
async def test_the_host_is_that_of_the_url_whatever_is_given(server, sent, name):
    assert await sent("Host", (name, "other")) == [server.address]


@pytest.mark.parametrize("name", ["Content-Length", "Transfer-Encoding", "Trailer"])
@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_given_header_cannot_contradict_the_length_of_the_request(server, sent, name, verb):
    plain = await sent(name, verb=verb)
    assert await sent(name, (name, "5"), verb=verb) == plain
    assert server.requested[0].form == server.requested[1].form


@pytest.mark.parametrize("name", ["Content-Type", "content-type"])
async def test_a_form_has_its_own_content_type_whatever_is_given(sent, name):
    given = (name, "application/json")
    assert await sent("Content-Type", given, verb="POST") == ["application/x-www-form-urlencoded"]


async def test_without_a_form_the_given_content_type_is_sent(sent):
    assert await sent("Content-Type", ("Content-Type", "text/plain")) == ["text/plain"]


async def test_a_given_encoding_of_the_response_replaces_that_of_the_client(sent):
    assert await sent("Accept-Encoding", ("accept-encoding", "gzip")) == ["gzip"]

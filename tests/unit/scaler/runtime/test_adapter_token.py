"""The adapter never receives a token with which it could act as the scaler."""

import base64
import json

import pytest

from scaler.runtime.adapter_options import AdapterOptions
from scaler.runtime.adapter_token import EXPIRATION_SECONDS, GivenIdentity, RequestedToken
from wire.api.status import Unavailable, forbidden
from wire.kube.cluster_access import ClusterAccess, ConnectionConfigError

AUDIENCE = "adapter.monitoring.svc"


class Own:
    """The scaler's own credentials."""

    def __init__(self, **more):
        self.access = ClusterAccess(server="https://api", authorization="Bearer own", **more)

    async def read(self, *, refused: bool = False):
        return self.access


def written(folder, *audiences):
    claims = base64.urlsafe_b64encode(json.dumps({"aud": audiences}).encode()).decode().rstrip("=")
    path = folder / "token"
    path.write_text(f"e30.{claims}.c2ln\n")
    return path


def given(own, file):
    options = AdapterOptions(service=("monitoring", "adapter"), token_file=file)
    return GivenIdentity(own, options, audience=AUDIENCE)


async def authorization(own, file):
    return (await given(own, file).read()).authorization


async def test_the_token_for_the_adapter_takes_the_place_of_the_scalers_own(tmp_path):
    file = written(tmp_path, AUDIENCE)
    assert await authorization(Own(), file) == f"Bearer {file.read_text().strip()}"


async def test_a_renewed_token_is_read_again(tmp_path):
    found = given(Own(), written(tmp_path, AUDIENCE))
    await found.read()
    renewed = "e30.eyJhdWQiOiJhZGFwdGVyLm1vbml0b3Jpbmcuc3ZjIn0.c2ln"
    (tmp_path / "token").write_text(renewed)
    assert (await found.read()).authorization == f"Bearer {renewed}"


async def test_without_a_token_for_the_adapter_nothing_is_sent_and_the_flag_is_named():
    with pytest.raises(
        ConnectionConfigError, match=r"--adapter-token-service-account to a ServiceAccount"
    ):
        await authorization(Own(), None)


async def test_a_client_certificate_is_enough_and_the_token_beside_it_is_withheld():
    own = Own(client_certificate_file="c", client_key_file="k")
    found = await given(own, None).read()
    assert (found.authorization, found.client_certificate_file) == (None, "c")


@pytest.mark.parametrize(
    ("audiences", "named"),
    [
        pytest.param(
            ["https://kubernetes.default.svc"], "is for https://kubernetes", id="API server"
        ),
        pytest.param([AUDIENCE, "https://kubernetes.default.svc"], "only", id="both"),
        pytest.param([], "no audience", id="none"),
    ],
)
async def test_a_token_that_another_server_accepts_too_is_refused(tmp_path, audiences, named):
    with pytest.raises(ConnectionConfigError, match=named) as refused:
        await authorization(Own(), written(tmp_path, *audiences))
    assert "e30." not in str(refused.value), "a secret"


async def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConnectionConfigError, match="nowhere: No such file"):
        await authorization(Own(), tmp_path / "nowhere")


class Issuer:
    """kube-apiserver, which issues tokens that are valid for half an hour."""

    def __init__(self):
        self.requests = []
        self.failure = None
        self.answer = None

    async def create(self, path, body, *, before_each=None):
        self.requests.append((path, json.loads(body)["spec"]))
        if self.failure:
            raise self.failure
        if self.answer is not None:
            return self.answer
        token = f"token-{len(self.requests)}"
        answer = {"spec": {"expirationSeconds": 1800}, "status": {"token": token}}
        return json.dumps(answer).encode()


class Requesting:
    """A `RequestedToken` with a clock."""

    def __init__(self, audience=AUDIENCE):
        self.issuer, self.seconds = Issuer(), 0.0
        self.source = RequestedToken(
            self.issuer, ("scaling", "reader"), audience=audience, monotonic=lambda: self.seconds
        )

    async def authorization(self):
        return (await self.source.read()).authorization


async def test_a_token_of_the_other_service_account_is_requested_for_this_server_only():
    made = Requesting()
    assert await made.authorization() == "Bearer token-1"
    path = "/api/v1/namespaces/scaling/serviceaccounts/reader/token"
    spec = {"expirationSeconds": EXPIRATION_SECONDS, "audiences": [AUDIENCE]}
    assert made.issuer.requests == [(path, spec)]


async def test_a_token_for_kube_apiserver_names_no_audience():
    made = Requesting(audience="")
    await made.authorization()
    assert "audiences" not in made.issuer.requests[0][1]


async def test_a_token_is_renewed_before_the_end_of_the_time_that_kube_apiserver_granted():
    made = Requesting()
    await made.authorization()
    made.seconds = 1439
    assert await made.authorization() == "Bearer token-1"
    made.seconds = 1441
    assert await made.authorization() == "Bearer token-2"


async def test_a_token_that_was_refused_is_not_used_again():
    """A rotated signing key or a recreated ServiceAccount makes it invalid before its time."""
    made = Requesting()
    await made.authorization()
    assert (await made.source.read(refused=True)).authorization == "Bearer token-2"
    assert await made.authorization() == "Bearer token-2"


@pytest.mark.parametrize(
    "failure", [forbidden("may not create"), Unavailable("no connection")], ids=["403", "away"]
)
async def test_a_token_that_is_not_issued_names_the_right_that_it_needs(failure):
    made = Requesting()
    made.issuer.failure = failure
    with pytest.raises(ConnectionConfigError, match=r"scaling/reader.*serviceaccounts/token"):
        await made.authorization()


async def test_a_response_that_is_not_a_token_request_is_refused():
    made = Requesting()
    made.issuer.answer = b"<html>"
    with pytest.raises(ConnectionConfigError, match="not a TokenRequest"):
        await made.authorization()

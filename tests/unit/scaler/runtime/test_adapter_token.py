"""The adapter never receives a token with which it could act as the scaler."""

import base64
import json

import pytest

from scaler.runtime.adapter_token import AdapterToken
from wire.kube.connection import ClusterAccess, ConnectionConfigError

AUDIENCE = "adapter.monitoring.svc"


class Own:
    """The scaler's own credentials."""

    def __init__(self, **more):
        self.access = ClusterAccess(server="https://api", authorization="Bearer own", **more)

    async def read(self):
        return self.access


def written(folder, *audiences):
    claims = base64.urlsafe_b64encode(json.dumps({"aud": audiences}).encode()).decode().rstrip("=")
    path = folder / "token"
    path.write_text(f"e30.{claims}.c2ln\n")
    return path


async def authorization(own, file):
    return (await AdapterToken(own, file, audience=AUDIENCE).read()).authorization


async def test_the_token_for_the_adapter_takes_the_place_of_the_scalers_own(tmp_path):
    file = written(tmp_path, AUDIENCE)
    assert await authorization(Own(), file) == f"Bearer {file.read_text().strip()}"


async def test_a_renewed_token_is_read_again(tmp_path):
    found = AdapterToken(Own(), written(tmp_path, AUDIENCE), audience=AUDIENCE)
    await found.read()
    renewed = "e30.eyJhdWQiOiJhZGFwdGVyLm1vbml0b3Jpbmcuc3ZjIn0.c2ln"
    (tmp_path / "token").write_text(renewed)
    assert (await found.read()).authorization == f"Bearer {renewed}"


async def test_without_a_token_for_the_adapter_nothing_is_sent_and_the_flag_is_named():
    with pytest.raises(
        ConnectionConfigError, match=r"--adapter-token-file.*adapter\.monitoring\.svc"
    ):
        await authorization(Own(), None)


async def test_a_client_certificate_is_enough_and_the_token_beside_it_is_withheld():
    own = Own(client_certificate_file="c", client_key_file="k")
    found = await AdapterToken(own, None, audience=AUDIENCE).read()
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

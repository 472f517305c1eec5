"""The bundle with which clients verify the pods of the scaler: every replica's certificate, and none that has expired."""

import asyncio
import datetime
import json

import pytest

from scaler.cluster.certificate_config_map import BUNDLE_KEY
from scaler.runtime.published_certificate import (
    ATTEMPTS_MAX,
    CERTIFICATES_MAX,
    PublishedCertificate,
    bundle_with,
)
from tests.fakes.scaler import FakeKube
from wire.api.status import StatusError, forbidden
from wire.serving.certificates import certificates_in, self_signed

NOW = datetime.datetime(2026, 11, 24, tzinfo=datetime.UTC)
PATH = "/api/v1/namespaces/loadline/configmaps/certificates"
CONFLICT = StatusError("the object has been modified", code=409, reason="Conflict")


def certificate(name="pod", *, days_ago=0):
    return self_signed((name, "localhost"), now=NOW - datetime.timedelta(days=days_ago)).certificate


def test_the_newest_certificate_comes_first_and_those_of_other_replicas_stay():
    one, two = certificate("one"), certificate("two")
    assert bundle_with(bundle_with("", one, NOW), two, NOW).encode() == two + one


def test_a_bundle_that_has_the_certificate_stays_the_same():
    bundle = (certificate("one") + certificate("two")).decode()
    own = certificates_in(bundle.encode())[1].pem
    assert bundle_with(bundle, own, NOW) == bundle


def test_expired_certificates_and_an_unreadable_bundle_are_replaced():
    own = certificate()
    assert bundle_with(certificate(days_ago=366).decode(), own, NOW).encode() == own
    assert bundle_with("garbage", own, NOW).encode() == own


def test_the_issuer_of_a_certificate_is_not_published():
    """It would verify every certificate that it has issued."""
    own, issuer = certificate("own"), certificate("issuer")
    assert bundle_with("", own + issuer, NOW).encode() == own


def test_the_bundle_is_bounded():
    bundle = ""
    own = b""
    for number in range(CERTIFICATES_MAX + 2):
        own = certificate(str(number))
        bundle = bundle_with(bundle, own, NOW)
    found = certificates_in(bundle.encode())
    assert len(found) == CERTIFICATES_MAX
    assert found[0].pem == own


def publishing(kube, own):
    return PublishedCertificate(kube, ("loadline", "certificates"), lambda: own, now=lambda: NOW)


def config_map(bundle="", version="7"):
    return {"metadata": {"resourceVersion": version}, "data": {BUNDLE_KEY: bundle}}


async def test_it_is_written_once():
    kube, own = FakeKube(), certificate()
    kube.serve(PATH, config_map())
    await publishing(kube, own).publish()
    [(path, change)] = kube.patched
    assert (path, change["metadata"]["resourceVersion"]) == (PATH, "7")
    kube.serve(PATH, config_map(change["data"][BUNDLE_KEY]))
    await publishing(kube, own).publish()
    assert len(kube.patched) == 1


async def test_after_a_conflict_with_another_replica_it_is_read_again():
    kube, own = FakeKube(), certificate()
    kube.serve(PATH, config_map())
    kube.patch_answers = [CONFLICT]
    await publishing(kube, own).publish()
    assert len(kube.patched) == 2
    kube.patch_answers = [CONFLICT] * ATTEMPTS_MAX
    with pytest.raises(StatusError):
        await publishing(kube, own).publish()


async def test_a_missing_right_is_logged_with_its_consequence(caplog):
    kube = FakeKube()
    kube.answers[PATH] = forbidden("cannot get configmaps")
    task = asyncio.create_task(publishing(kube, certificate()).run())
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    assert "`kubectl loadline why` cannot verify it: cannot get configmaps" in caplog.text


async def test_what_is_published_is_the_whole_content_of_one_key():
    kube = FakeKube()
    kube.serve(PATH, config_map())
    await publishing(kube, certificate()).publish()
    [(_, change)] = kube.patched
    assert set(change) == {"metadata", "data"}
    assert "PRIVATE" not in json.dumps(change)

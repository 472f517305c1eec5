"""When a shared self-signed certificate is replaced, and what stays trusted meanwhile."""

import base64
import datetime

import pytest

from adapter.certificates.renewal import OVERLAP, Stored, stored_in, successor
from wire.serving.certificates import certificates_in, self_signed

NAMES = ("adapter.monitoring.svc", "127.0.0.1")
START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)


def renewed(stored, now, *, names=NAMES, trusted=()) -> Stored | None:
    return successor(stored, names=names, trusted=trusted, now=now)


@pytest.fixture(scope="module")
def first() -> Stored:
    stored = renewed(None, START)
    assert stored is not None
    return stored


def foreign(now=START):
    return certificates_in(self_signed(["other.svc"], now=now).certificate)


def test_without_a_stored_certificate_one_is_issued_for_the_names(first):
    (certificate,) = first.bundle
    assert certificate.pem == first.pair.certificate
    assert certificate.names == set(NAMES)
    assert certificate.not_before <= START < certificate.not_after


@pytest.mark.parametrize(
    ("days", "is_renewed"),
    [
        pytest.param(0, False, id="new"),
        pytest.param(242, False, id="less than two thirds of its validity"),
        pytest.param(244, True, id="more than two thirds"),
        pytest.param(1000, True, id="expired"),
        pytest.param(-1, True, id="not valid yet, because the clock of another replica was wrong"),
    ],
)
def test_a_certificate_is_renewed_after_two_thirds_of_its_validity(first, days, is_renewed):
    assert (renewed(first, START + days * DAY) is not None) == is_renewed


def test_a_certificate_of_another_service_is_replaced(first):
    assert renewed(first, START, names=(*NAMES, "renamed.monitoring.svc")) is not None


def test_the_previous_certificate_stays_trusted_for_a_day_and_no_longer(first):
    now = START + 250 * DAY
    second = renewed(first, now)
    assert second.bundle[0].pem == second.pair.certificate
    assert second.bundle[1:] == first.bundle
    assert renewed(second, now + OVERLAP / 2) is None
    third = renewed(second, now + OVERLAP)
    assert (third.bundle, third.pair) == (second.bundle[:1], second.pair)
    assert renewed(third, now + 2 * OVERLAP) is None


def test_what_is_trusted_when_the_secret_is_emptied_stays_trusted(first):
    """Other replicas still serve the previous certificate."""
    second = renewed(None, START + DAY, trusted=first.bundle)
    assert second.pair != first.pair
    assert second.bundle[1:] == first.bundle


def test_an_expired_certificate_is_no_longer_trusted(first):
    now = START + 400 * DAY
    second = renewed(first, now, trusted=(*first.bundle, *foreign(), *foreign(now)))
    assert len(second.bundle) == 2


def test_a_certificate_that_is_trusted_twice_is_listed_once(first):
    second = renewed(first, START + 250 * DAY, trusted=[*first.bundle, *first.bundle])
    assert len(second.bundle) == 2


def test_what_is_stored_is_read_back(first):
    assert stored_in(first.data()) == first


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"tls.key": None}, id="no key"),
        pytest.param({"tls.key": "%"}, id="not base64"),
        pytest.param({"tls.key": base64.b64encode(b"text").decode()}, id="not a key"),
        pytest.param(
            {"tls.key": base64.b64encode(self_signed(["a"]).key).decode()}, id="another key"
        ),
        pytest.param({"ca.crt": base64.b64encode(b"text").decode()}, id="not a certificate"),
        pytest.param(
            {"ca.crt": base64.b64encode(self_signed(["a"]).certificate).decode()},
            id="a bundle that does not begin with the certificate",
        ),
    ],
)
def test_a_damaged_secret_counts_as_empty(first, damage):
    data = {name: value for name, value in (first.data() | damage).items() if value is not None}
    assert stored_in(data) is None

"""The adapter under seeded faults of Prometheus and kube-apiserver, and proof that each invariant can fail.

More seeds: `python -m testbed.fault_injection FIRST LAST`.
"""

import contextlib
import time

import msgspec
import pytest

from testbed.fault_injection.campaign import campaign, report
from testbed.fault_injection.kubernetes_model import ALLOWED_USER, DENIED_USER, KubernetesModel
from testbed.fault_injection.prometheus_model import PrometheusModel
from testbed.fault_injection.truth import Ask, Outcome, Truth, Violation

SEEDS = 30
# Faults last for most steps. An adapter that answered nothing while they last would have far fewer.
VALUES_RATIO_MIN = 0.25


def test_no_fault_yields_a_wrong_value_or_more_rights(tmp_path, capsys):
    result = campaign(range(SEEDS), tmp_path)
    with capsys.disabled():
        report(result)
    assert "\n".join(result.violations) == ""
    assert result.episodes == SEEDS
    assert result.responses.with_values >= VALUES_RATIO_MIN * result.responses.total


@pytest.fixture
def truth() -> Truth:
    truth = Truth(PrometheusModel(), KubernetesModel({("ns-0", "p-0")}, client_ca=""))
    truth.change_values(0)
    return truth


ASK = Ask("/path", ALLOWED_USER, "ns-0", "p-0")


def answered(value: object, pod: str = "p-0") -> bytes:
    items = [{"describedObject": {"name": pod}, "value": str(value)}]
    return msgspec.json.encode({"items": items})


@pytest.mark.parametrize(
    ("token", "status", "pod", "value_of", "seconds"),
    [
        pytest.param(ALLOWED_USER, 200, "p-0", ("ns-0", "p-1"), 0.1, id="value of another pod"),
        pytest.param(ALLOWED_USER, 200, "p-0", ("ns-1", "p-0"), 0.1, id="of another namespace"),
        pytest.param(ALLOWED_USER, 200, "p-1", ("ns-0", "p-1"), 0.1, id="pod not requested"),
        pytest.param(ALLOWED_USER, 200, "p-0", None, 0.1, id="zero"),
        pytest.param(ALLOWED_USER, 404, "p-0", None, 0.1, id="not found"),
        pytest.param(ALLOWED_USER, 403, "p-0", None, 0.1, id="forbidden although authorized"),
        pytest.param(DENIED_USER, 200, "p-0", ("ns-0", "p-0"), 0.1, id="value although denied"),
        pytest.param("invalid", 200, "p-0", ("ns-0", "p-0"), 0.1, id="value for an invalid token"),
        pytest.param("invalid", 403, "p-0", None, 0.1, id="forbidden for an invalid token"),
        pytest.param(ALLOWED_USER, 200, "p-0", ("ns-0", "p-0"), 60.0, id="late"),
    ],
)
def test_each_wrong_response_is_a_violation(truth, token, status, pod, value_of, seconds):
    right = Outcome(ASK, 200, answered(truth.values()["ns-0", "p-0"]), 0.1)
    truth.check(right, is_disturbed=False)
    value = truth.values()[value_of] if value_of else 0
    ask = msgspec.structs.replace(ASK, token=token)
    with pytest.raises(Violation):
        truth.check(Outcome(ask, status, answered(value, pod), seconds), is_disturbed=True)


@pytest.mark.parametrize("seconds_later", [0.0, 60.0])
def test_former_values_are_right_for_a_moment_only(truth, monkeypatch, seconds_later):
    """Also those of two changes ago: a query that is slow may take longer than a short episode."""
    former = [truth.values()["ns-0", "p-0"]]
    for seed in (1, 2):
        truth.change_values(seed)
        former.append(truth.values()["ns-0", "p-0"])
    now = time.monotonic() + seconds_later
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for value in former[:2]:
        outcome = Outcome(ASK, 200, answered(value), 0.1)
        with pytest.raises(Violation) if seconds_later else contextlib.nullcontext():
            truth.check(outcome, is_disturbed=True)


@pytest.mark.parametrize("token", [ALLOWED_USER, DENIED_USER, "invalid"])
@pytest.mark.parametrize("status", [500, 503])
def test_a_failure_without_a_fault_is_a_violation(truth, token, status):
    outcome = Outcome(msgspec.structs.replace(ASK, token=token), status, b"", 0.1)
    truth.check(outcome, is_disturbed=True)
    with pytest.raises(Violation):
        truth.check(outcome, is_disturbed=False)


def test_an_empty_list_for_one_pod_is_a_violation(truth):
    with pytest.raises(Violation):
        truth.check(Outcome(ASK, 200, b'{"items":[]}', 0.1), is_disturbed=True)

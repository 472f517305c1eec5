"""`kubectl loadline status`: the list of both kinds, the table, and what is said without a recording."""

import json

import msgspec
import pytest

from kubectl_loadline.commands.status.of_one import remembered
from kubectl_loadline.status.listing import listed
from kubectl_loadline.status.row import Row
from kubectl_loadline.status.table import table_of
from kubectl_loadline.status.text import detail
from kubectl_loadline.terminal.documents import print_document
from kubectl_loadline.terminal.screen import red
from tests.fakes.scaler import FakeKube
from wire.api.status import StatusError, Unavailable, forbidden

LAS = "/apis/loadline.io/v1beta1/loadautoscalers"
HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"
SPEC = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9}
ROW = Row(kind="la", namespace="shop", name="web", target="Deployment/web", min=1, max=9, current=3, desired=4)  # fmt: skip


def item(namespace, name):
    return {"metadata": {"namespace": namespace, "name": name}, "spec": SPEC}


class PagedKube(FakeKube):
    """The second page of the HPAs is behind a token."""

    async def get(self, path, params=None, *, accept=""):
        if path == HPAS and "continue" in (params or {}):
            return json.dumps({"items": [item("a", "last")]}).encode()
        return await super().get(path, params, accept=accept)


async def test_both_kinds_are_listed_page_by_page_and_sorted():
    kube = PagedKube()
    kube.serve(LAS, {"items": [item("shop", "web")]})
    kube.serve(HPAS, {"metadata": {"continue": "token"}, "items": [item("shop", "web")]})
    found = await listed(kube, "")
    assert [each.key for each in found.rows] == ["hpa/a/last", "hpa/shop/web", "la/shop/web"]


async def test_a_list_that_does_not_end_is_an_error():
    kube = FakeKube()
    kube.serve(HPAS, {"metadata": {"continue": "token"}, "items": [item("shop", "web")]})
    with pytest.raises(Unavailable, match=r"horizontalpodautoscalers.* does not end"):
        await listed(kube, "")


async def test_a_page_of_a_proxy_is_not_a_list_of_autoscalers():
    kube = FakeKube()
    kube.serve(HPAS, {"error": "session expired"})
    with pytest.raises(Unavailable, match="not a valid list of autoscalers"):
        await listed(kube, "")


async def test_a_cluster_without_the_kind_loadautoscaler_has_hpas_only():
    kube = FakeKube()
    kube.serve(HPAS, {"items": [item("shop", "web")]})
    found = await listed(kube, "")
    assert ([each.kind for each in found.rows], found.refused) == (["hpa"], None)


async def test_a_kind_that_the_user_may_not_list_is_left_out_and_named():
    kube = FakeKube()
    kube.serve(HPAS, {"items": [item("shop", "web")]})
    kube.answers[LAS] = forbidden("cannot list loadautoscalers")
    found = await listed(kube, "")
    assert [each.kind for each in found.rows] == ["hpa"]
    assert found.refused == "cannot list loadautoscalers"
    kube.answers[HPAS] = forbidden("cannot list hpas")
    with pytest.raises(StatusError, match="cannot list loadautoscalers"):
        await listed(kube, "")


def test_the_table_has_one_line_per_autoscaler_and_no_line_break_in_a_reason():
    long = msgspec.structs.replace(ROW, reason="first\nsecond " * 20, limited_by=("window", "max"))
    table = table_of([ROW, long], with_namespace=True, columns=None)
    assert table.header().split()[:2] == ["NAMESPACE", "NAME"]
    assert " ".join(table.line(ROW).split()[:8]) == "shop la/web Deployment/web 1 9 3 4 -"
    assert "window, max" in table.line(long)
    assert table.line(long).endswith("second first second")


def test_one_autoscaler_is_shown_with_its_whole_reason():
    long = msgspec.structs.replace(ROW, reason="word " * 50, dry_run=True)
    printed = detail(long, "The comparison.")
    assert "word " * 49 in printed
    assert "replicas   3 now; would run 4" in printed
    assert printed.endswith("\n\nThe comparison.")


def test_without_a_recording_the_recommendations_of_the_status_are_reported():
    step = {"sinceUnixSeconds": 0.0, "untilUnixSeconds": 60.0}
    later = {"sinceUnixSeconds": 60.0, "untilUnixSeconds": 300.0}
    steps = [{"replicas": 2, **step}, {"replicas": 7, **later}]
    body = json.dumps({"status": {"history": {"recommendations": steps}}}).encode()
    assert (
        remembered(body)
        == ". According to its status, the metrics recommended 2 to 7 replicas in the last 5 minutes"
    )
    assert remembered(b"{}") == ""
    body = json.dumps({"status": {"history": {"recommendations": [{"replicas": 2, **step}]}}})
    assert remembered(body.encode()).endswith("replicas in the last minute")


def test_escape_sequences_in_an_object_do_not_reach_the_terminal_with_the_table():
    name, reason = "web\x1b[31m", "no\x1b[2J value"
    hostile = msgspec.structs.replace(
        ROW, name=name, reason=reason, target="Deployment/\x1b]0;x\x07"
    )
    table = table_of([hostile, ROW], with_namespace=True, columns=None)
    lines = [table.line(hostile, of_problem=red), table.line(ROW)]
    assert [line.index("Deployment/") for line in lines] == [lines[0].index("Deployment/")] * 2
    assert "la/web\\x1b[31m " in lines[0]
    assert lines[0].endswith("no\\x1b[2J value")
    assert "\x1b[2J" not in lines[0]


def test_a_document_for_people_is_printable_and_one_for_programs_is_as_it_is(capsys):
    document = json.dumps({"name": "a\x1b[2J"}).encode()
    print_document("text", document, lambda: "a\x1b[2J")
    assert capsys.readouterr().out == "a\\x1b[2J\n"
    print_document("json", document)
    assert json.loads(capsys.readouterr().out) == {"name": "a\x1b[2J"}
    print_document("jsonpath={.name}", document)
    assert capsys.readouterr().out == "a\x1b[2J"

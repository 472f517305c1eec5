"""`kubectl loadline status` as whole command lines: formats, selection, order, the width of the terminal, and the connection."""

import json
import os
import signal
import subprocess
import sys

import pytest
import yaml

from kubectl_loadline.program import main
from tests.deadline import DEADLINE_SECONDS
from tests.unit.kubectl_loadline.api_server import (  # fmt: skip
    HPAS,
    LAS,
    autoscaler,
    collection,
    unscalable,
    within,
)


@pytest.fixture
def shop(api_server):
    """A LoadAutoscaler `web` that goes from 3 to 4 replicas, an HPA `mail`, and a LoadAutoscaler `jobs` of another namespace."""
    jobs = unscalable("jobs", namespace="billing")
    api_server.documents[within(LAS, "shop")] = collection(autoscaler("web"))
    api_server.documents[within(HPAS, "shop")] = collection(autoscaler("mail"))
    api_server.documents[LAS] = collection(autoscaler("web"), jobs)
    api_server.documents[HPAS] = collection(autoscaler("mail"))
    api_server.documents[f"{within(LAS, 'shop')}/web"] = autoscaler("web")
    return api_server


def printed(capsys, *arguments, code=0):
    assert main(["status", *arguments]) == code
    return capsys.readouterr().out


def refusal(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["status", *arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Makes stdout a terminal of so many columns."""

    def of(columns, **variables):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"COLUMNS": str(columns), "TERM": "xterm", **variables}.items():
            monkeypatch.setenv(name, value)

    return of


def test_a_list_is_a_table_with_the_words_of_kubectl(shop, capsys):
    lines = printed(capsys).splitlines()
    assert lines[0].split() == ["NAME", "TARGET", "MIN", "MAX", "CURRENT", "DESIRED", "LIMITED", "BY", "REASON"]  # fmt: skip
    assert [each.split()[0] for each in lines[1:]] == ["hpa/mail", "la/web"]
    assert printed(capsys, "--no-headers").splitlines() == lines[1:]
    assert printed(capsys, "-o", "table").splitlines() == lines


def test_all_namespaces_have_a_column_of_their_own(shop, capsys):
    lines = printed(capsys, "-A").splitlines()
    assert [each.split()[0] for each in lines] == ["NAMESPACE", "billing", "shop", "shop"]


def test_json_and_yaml_are_the_same_document(shop, capsys):
    found = json.loads(printed(capsys, "-o", "json"))
    assert yaml.safe_load(printed(capsys, "-o", "yaml")) == found
    assert [(each["name"], each["current"], each["desired"]) for each in found["autoscalers"]] == [("mail", 3, 4), ("web", 3, 4)]  # fmt: skip


def test_names_can_be_given_to_kubectl(shop, capsys):
    names = printed(capsys, "-o", "name").split()
    assert names == ["horizontalpodautoscaler.autoscaling/mail", "loadautoscaler.loadline.io/web"]
    assert printed(capsys, names[1], "-o", "name").split() == [names[1]]


def test_one_autoscaler_is_shown_in_sentences_or_in_any_format(shop, capsys):
    assert "replicas   3 now; desired 4" in printed(capsys, "web")
    assert printed(capsys, "la/web", "-o", "table").splitlines()[1].startswith("la/web ")
    assert json.loads(printed(capsys, "web", "-o", "json"))["autoscalers"][0]["name"] == "web"


def test_a_template_prints_what_it_finds_without_a_line_break(shop, capsys):
    template = 'jsonpath={range .autoscalers[?(@.kind=="la")]}{.name}={.desired}{"\\n"}{end}'
    assert printed(capsys, "-A", "-o", template) == "jobs=null\nweb=4\n"
    assert printed(capsys, "web", "-o=jsonpath={.autoscalers[0].current}") == "3"


def test_a_template_that_indexes_what_is_not_there_is_an_error(shop, capsys):
    assert printed(capsys, "-o=jsonpath={.autoscalers[2]}", code=2) == ""
    assert main(["status", "-o=jsonpath={.autoscalers[2]}"]) == 2
    assert (
        capsys.readouterr().err
        == "kubectl loadline status: [2] is out of range for a list of length 2\n"
    )


def test_a_selector_is_sent_to_the_api_server(shop, capsys):
    printed(capsys, "-l", "team=shop,tier!=test")
    selectors = {each.query.get("labelSelector") for each in shop.received()}
    assert selectors == {"team=shop,tier!=test"}


@pytest.mark.parametrize("field", ["current", ".current", "{.current}", "CURRENT"])
def test_a_list_is_sorted_by_a_field_and_unknown_counts_come_first(shop, capsys, field):
    shop.documents[LAS] = collection(
        autoscaler("web"),
        unscalable("jobs", namespace="billing"),
        {
            **autoscaler("api"),
            "status": {**autoscaler("api")["status"], "currentReplicas": 1},
        },
    )
    rows = json.loads(printed(capsys, "-A", f"--sort-by={field}", "-o", "json"))["autoscalers"]
    assert [each["current"] for each in rows] == [None, 1, 3, 3]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--sort-by=size"], "'size' is not one of name, namespace"),
        (["-o", "jsonp"], "invalid choice"),
        (["-o", "jsonpath"], "jsonpath needs a template, such as jsonpath='{.FIELD}'"),
        (["-o", "jsonpath={.autoscalers"], "is not closed by a brace"),
        (["-o", "jsonpath={autoscalers}"], "a field begins with a dot: {.autoscalers}"),
        (["web", "-l", "a=b"], "--selector applies only to lists: remove NAME"),
        (["web", "-A"], "--all-namespaces applies only to lists: remove NAME"),
        (["web", "--sort-by=name"], "--sort-by applies only to lists: remove NAME"),
        (["--problems", "-w"], "--problems cannot be used with --watch"),
        (["--request-timeout=0"], "'0' must be greater than 0"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_flags_that_do_not_fit_are_refused(capsys, arguments, reported):
    assert reported in refusal(capsys, *arguments)


LONG = "a reason that has so many words that it does not fit on a line of a terminal of 80 columns, nor of 200 columns, as it goes on and on for two lines"


def named(name):
    message = {"type": "AbleToScale", "status": "False", "reason": "FailedGetScale", "message": LONG}  # fmt: skip
    return {**autoscaler(name), "status": {"conditions": [message]}}


def test_on_80_columns_names_are_whole_and_what_is_left_out_is_named(shop, capsys, terminal):
    name = "checkout-worker-of-the-payment-service"
    shop.documents[within(LAS, "shop")] = collection(named(name), autoscaler("web"))
    terminal(80)
    assert main(["status"]) == 0
    found = capsys.readouterr()
    lines = found.out.splitlines()
    assert all(len(each) <= 80 for each in lines)
    assert f"la/{name} " in found.out
    assert "DESIRED   LIMITED BY" in lines[0]
    assert found.err == "Hidden at 80 columns: TARGET, MIN, MAX, REASON (-o wide shows all)\n"


def test_on_80_columns_the_reason_is_shown_instead_of_min_and_max(shop, capsys, terminal):
    dry = autoscaler("images")
    dry["spec"]["mode"] = "DryRun"
    shop.documents[LAS] = collection(dry, autoscaler("reports"))
    terminal(80)
    assert main(["status", "-A"]) == 0
    found = capsys.readouterr()
    header, *rows = found.out.splitlines()
    assert header.split() == ["NAMESPACE", "NAME", "CURRENT", "DESIRED", "LIMITED", "BY", "REASON"]
    assert all(len(each) <= 80 for each in rows)
    assert found.err == "Hidden at 80 columns: TARGET, MIN, MAX (-o wide shows all)\n"


def test_on_80_columns_a_short_table_has_a_reason_that_ends_with_dots(shop, capsys, terminal):
    shop.documents[within(LAS, "shop")] = collection(named("web"))
    terminal(80, NO_COLOR="1")
    [_, _, web] = printed(capsys).splitlines()
    assert web.endswith("...")
    assert len(web) <= 80


def test_on_200_columns_every_column_is_shown(shop, capsys, terminal):
    shop.documents[within(LAS, "shop")] = collection(named("web"))
    terminal(200, NO_COLOR="1")
    lines = printed(capsys).splitlines()
    assert "TARGET" in lines[0]
    assert "MIN   MAX" in lines[0]
    assert 80 < max(map(len, lines)) <= 200


@pytest.mark.parametrize("columns", [80, 200, None], ids=["80", "200", "a pipe"])
def test_a_dry_run_is_seen_at_every_width(shop, capsys, terminal, columns):
    name = "checkout-worker-of-the-payment-service"
    dry = autoscaler(name)
    dry["spec"]["mode"] = "DryRun"
    shop.documents[within(LAS, "shop")] = collection(dry, autoscaler("web"))
    if columns is not None:
        terminal(columns)
    lines = printed(capsys).splitlines()
    assert [each for each in lines if "4 (dry run)" in each] == [lines[1]]
    assert lines[1].startswith(f"la/{name}")
    assert columns is None or max(map(len, lines)) <= columns


def test_neither_wide_nor_a_pipe_cuts_anything(shop, capsys, terminal):
    shop.documents[within(LAS, "shop")] = collection(named("web"))
    assert LONG in printed(capsys)
    terminal(80)
    assert LONG in printed(capsys, "-o", "wide")


def test_a_problem_is_red_on_a_terminal_that_shows_colours(shop, capsys, terminal):
    terminal(200)
    assert "\x1b[31mtarget\x1b[0m" in printed(capsys, "-A")


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "a dumb terminal"]
)
def test_there_are_no_colours_where_they_are_not_wanted(shop, capsys, terminal, variables):
    terminal(200, **variables)
    assert "\x1b" not in printed(capsys, "-A")


def test_there_are_no_colours_in_a_pipe(shop, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b" not in printed(capsys, "-A")


def test_another_user_is_impersonated(shop, capsys):
    printed(capsys, "--as=ann", "--as-group=dev", "--as-group=ops")
    for each in shop.received():
        assert each.headers["Impersonate-User"] == "ann"
        assert each.groups == ("dev", "ops")


def test_a_group_without_a_user_is_refused_before_anything_is_sent(shop, capsys):
    assert main(["status", "--as-group=dev"]) == 2
    assert "--as-group requires --as" in capsys.readouterr().err
    assert shop.received() == []


def test_a_request_that_takes_too_long_is_an_error(shop, capsys):
    shop.silent.add(within(LAS, "shop"))
    assert main(["status", "--request-timeout=100ms"]) == 1
    assert "kubectl loadline status: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "path"),
    [([], within(LAS, "shop")), (["web"], within(LAS, "shop"))],
    ids=["a list", "one autoscaler"],
)
def test_watch_prints_each_change_and_ends_with_ctrl_c(shop, arguments, path):
    environment = {**os.environ, "KUBECONFIG": str(shop.kubeconfig)}
    command = [sys.executable, "-m", "kubectl_loadline.program", "status", "-w", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    changed = {**autoscaler("web", resourceVersion="8")}
    changed["status"] = {**changed["status"], "desiredReplicas": 7}
    with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
        try:
            assert next(each for each in process.stdout if each.startswith("la/web"))
            shop.events(path).put({"type": "MODIFIED", "object": changed})
            shown = next(process.stdout).split()[:6]
            assert shown == ["la/web", "Deployment/web", "1", "9", "3", "7"]
            shop.events(path).put({"type": "DELETED", "object": changed})
            assert next(process.stdout).endswith("it was deleted\n")
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=DEADLINE_SECONDS) == ("", "")
        finally:
            process.kill()
    assert process.returncode == 130

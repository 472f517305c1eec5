"""What kubectl completes after `kubectl loadline`."""

from pathlib import Path

import pytest

from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.completing import FILES, NO_FILES, candidates, cluster_of_words, main, names
from kubectl_loadline.program import COMMANDS
from kubectl_loadline.status.row import Row
from wire.kube.chosen_context import ChosenContext


def parser(command):
    return next(each.load().parser() for each in COMMANDS if each.name == command)


def words(found):
    return None if found is None else [each.partition("\t")[0] for each in found]


@pytest.mark.parametrize(
    ("line", "expected", "directive"),
    [
        (["wh"], ["why"], NO_FILES),
        (["completion", ""], ["bash", "zsh", "tcsh", "fish"], NO_FILES),
        (["why", ""], None, NO_FILES),
        (["why", "--ou"], ["--output"], NO_FILES),
        (["why", "-o", ""], ["text", "json", "yaml", "jsonpath="], NO_FILES),
        (["why", "--output", "j"], ["json", "jsonpath="], NO_FILES),
        (["why", "--kubeconfig", ""], [], FILES),
        (["why", "-n", ""], [], NO_FILES),
        (["check", ""], [], FILES),
        (["status", "-A", ""], None, NO_FILES),
        (["ui", ""], [], NO_FILES),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_commands_flags_values_files_and_names(line, expected, directive):
    known = {each.name for each in COMMANDS}
    found, shell = candidates(line, parser(line[0]) if line[0] in known else None)
    assert (words(found), shell) == (expected, directive)


def test_every_command_is_completed_with_its_summary():
    found, _ = candidates([""], None)
    assert words(found) == [*(each.name for each in COMMANDS), "completion"]
    assert all("\t" in each for each in found)


def row(kind, name):
    return Row(kind=kind, namespace="shop", name=name, target="Deployment/web", min=1, max=9)


def test_a_name_has_its_kind_only_where_both_kinds_have_it():
    assert names([row("la", "web"), row("hpa", "web"), row("la", "api")]) == ["la/web", "hpa/web", "api"]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("why -n shop w", Cluster(namespace="shop")),
        ("why --context c w", Cluster(context=ChosenContext(name="c"))),
        (
            "why --cluster=far --user joe w",
            Cluster(context=ChosenContext(cluster="far", user="joe")),
        ),
        ("why --namespace=shop w", Cluster(namespace="shop")),
        ("why --kubeconfig=file w", Cluster(kubeconfig=Path("file"))),
        ("why w", Cluster()),
    ],
)
def test_the_names_are_those_of_the_namespace_of_the_line(line, expected):
    assert cluster_of_words(line.split()) == expected


def test_without_a_cluster_there_are_no_names(tmp_path, capsys):
    assert main(["why", "--kubeconfig", str(tmp_path / "missing"), ""]) == 0
    assert capsys.readouterr().out == f":{NO_FILES}\n"


def test_an_unknown_command_has_no_candidates(capsys):
    assert main(["wyh", "x"]) == 0
    assert capsys.readouterr().out == f":{NO_FILES}\n"

"""The files of `migrate --rules` and `--values`: what is never replaced, and what is said if they cannot be written."""

import pytest

from kubectl_loadline.program import main as plugin
from tests.unit.kubectl_loadline.commands.test_migrate import SCALED_OBJECT, main, written

__all__ = ["main"]  # the fixture with the two front ends


@pytest.mark.parametrize("flag", ["--rules", "--values"])
def test_a_file_that_cannot_be_written_is_named_before_anything_is_printed(
    tmp_path, capsys, main, flag
):
    file = written(tmp_path, SCALED_OBJECT)
    output_file = tmp_path / "manifests.yaml" / "x.yaml"
    assert main(["migrate", f"{flag}={output_file}", file]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.endswith(f"migrate: {output_file} cannot be written: Not a directory\n")


@pytest.mark.parametrize("flag", ["--rules", "--values"])
def test_missing_directories_of_results_are_created(tmp_path, main, flag):
    new = tmp_path / "a" / "b" / "x.yaml"
    assert main(["migrate", f"{flag}={new}", written(tmp_path, SCALED_OBJECT)]) == 0
    assert "shop_worker_0" in new.read_text()


@pytest.mark.parametrize("flag", ["--rules", "--values"])
def test_a_file_is_not_overwritten_with_what_is_made_from_it(tmp_path, capsys, main, flag):
    file = written(tmp_path, SCALED_OBJECT)
    assert main(["migrate", file, f"{flag}={file}"]) == 2
    output = capsys.readouterr()
    assert f"{flag}={file} is also an input: write to another file\n" in output.err
    assert output.out == ""
    assert (tmp_path / "manifests.yaml").read_text() == SCALED_OBJECT


def test_values_of_the_user_are_not_replaced(tmp_path, capsys, main):
    values = tmp_path / "values.yaml"
    values.write_text("prometheus: {url: http://p:9090}\nreplicas: 2\n")
    assert main(["migrate", written(tmp_path, SCALED_OBJECT), f"--values={values}"]) == 2
    output = capsys.readouterr()
    expected = "has prometheus, replicas, which the command does not write: name a new file\n"
    assert output.err.endswith(f"migrate: --values={values} {expected}")
    assert output.out == ""
    assert values.read_text() == "prometheus: {url: http://p:9090}\nreplicas: 2\n"


def test_a_configuration_of_the_user_is_not_replaced(tmp_path, capsys, main):
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{seriesQuery: up}]\n")
    assert main(["migrate", written(tmp_path, SCALED_OBJECT), f"--rules={rules}"]) == 2
    assert f"--rules={rules} has rules, which" in capsys.readouterr().err
    assert rules.read_text() == "rules: [{seriesQuery: up}]\n"


def test_what_an_earlier_run_has_written_is_replaced(tmp_path, main):
    file = written(tmp_path, SCALED_OBJECT)
    outputs = tmp_path / "rules.yaml", tmp_path / "values.yaml"
    flags = [f"--rules={outputs[0]}", f"--values={outputs[1]}"]
    assert main(["migrate", file, *flags]) == 0
    first = [each.read_text() for each in outputs]
    assert main(["migrate", file, *flags]) == 0
    assert [each.read_text() for each in outputs] == first


def test_a_file_is_not_written_twice(tmp_path, capsys, main):
    both = tmp_path / "both.yaml"
    flags = [f"--rules={both}", f"--values={both}"]
    assert main(["migrate", written(tmp_path, SCALED_OBJECT), *flags]) == 2
    assert "are the same file: name another one" in capsys.readouterr().err
    assert not both.exists()


def test_values_of_the_user_are_not_replaced_by_those_of_the_cluster(api_server, tmp_path, capsys):
    values = tmp_path / "values.yaml"
    values.write_text("replicas: 2\n")
    assert plugin(["migrate", f"--values={values}"]) == 2
    assert "has replicas, which" in capsys.readouterr().err
    assert api_server.requests.empty()


def test_values_of_the_user_are_not_replaced_by_a_whole_configuration(tmp_path, capsys):
    values = tmp_path / "values.yaml"
    values.write_text("rules: {default: false, custom: [], existing: a}\n")
    file = written(tmp_path, "rules: [{seriesQuery: up}]\n")
    assert plugin(["migrate", file, f"--values={values}"]) == 2
    assert f"--values={values} has rules.existing, which" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--rules", "--as-objects", "--enforce"])
def test_a_flag_for_autoscalers_is_refused_with_a_configuration(tmp_path, capsys, flag):
    file = written(tmp_path, "rules: [{seriesQuery: up}]\n")
    output_file = tmp_path / "new.yaml"
    given = f"{flag}={output_file}" if flag == "--rules" else flag
    assert plugin(["migrate", file, given]) == 2
    error = capsys.readouterr().err
    assert f"{flag} applies to the conversion of" in error
    assert f"{file} is a configuration of prometheus-adapter" in error
    assert ("redirect stdout to a file, or use --values" in error) is (flag == "--rules")
    assert not output_file.exists()

"""HPAs and ScaledObjects to LoadAutoscalers, and whether both would set the same replica counts.

`kubectl loadline migrate` (`command`) and `loadline-scaler migrate` (`of_scaler`) are this with two front ends.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from kubectl_loadline.cluster.manifests import items_of, within
from kubectl_loadline.commands.migrate.from_cluster import (
    belongs_to_keda,
    compared,
    read_originals,
)
from kubectl_loadline.decisions.metric_names import in_prometheus_words
from kubectl_loadline.migration import (
    AdapterNames,
    Comparison,
    Converted,
    Remark,
    Unconvertible,
    from_hpa,
    from_scaled_object,
    name_of,
)
from kubectl_loadline.migration.chart_values import chart_values, keys_of_values
from kubectl_loadline.terminal.exit_codes import FOUND, OK
from kubectl_loadline.terminal.output_files import keep_files, keep_other_keys, writing
from kubectl_loadline.terminal.screen import screen_columns
from kubectl_loadline.terminal.unread_file import unread_file
from wire.api.wording import some
from wire.kube.requests import Reader
from wire.process import go_yaml
from wire.process.command_line.messages import print_error, wrapped
from wire.process.command_line.parsing import FlagParser
from wire.process.yaml_text import as_yaml

Json = dict[str, Any]
Conversion = Callable[[Json], Converted]
KINDS: Final = ("HorizontalPodAutoscaler", "ScaledObject")
SCALED_JOB: Final = "ScaledJob"
CONFIGURATION_KEYS: Final = ("backends", "metrics")


class WrongInput(ValueError):
    """A file cannot be read, or is not YAML; the message has its name."""


class NothingFound(Exception):
    """There is nothing to convert or to compare; the message says what to do."""


def check_outputs(given: argparse.Namespace, *, is_complete: bool = False) -> None:
    """Raises `OverwrittenFile` if the result would replace a file that is converted, or values that the user has written.

    `is_complete`: the values are those of a whole configuration.
    """
    keep_files(given.files, {"--rules": given.rules, "--values": given.values})
    keep_other_keys("--rules", given.rules, CONFIGURATION_KEYS)
    keep_other_keys("--values", given.values, keys_of_values(is_complete=is_complete))


def migrated_files(given: argparse.Namespace, originals: Sequence[Json]) -> int:
    """Convert the objects of the files; the exit code. Raises `WrongInput`, `UnusableOutput` and `NothingFound`."""
    check_outputs(given)
    if not any(each.get("kind") in (*KINDS, SCALED_JOB) for each in originals):
        have = "has" if len(given.files) == 1 else "have"
        raise NothingFound(f"{', '.join(given.files)} {have} no {given.reads}")
    originals = [within(given.namespace, each) for each in originals]
    for each in filter(belongs_to_keda, originals):
        print_error(f"{name_of(each)}: KEDA creates it for a ScaledObject; skipped")
    return migrated_documents(given, [each for each in originals if not belongs_to_keda(each)])


def migrated_documents(given: argparse.Namespace, originals: Sequence[Json]) -> int:
    """Convert the objects; the exit code. Raises `WrongInput` and `UnusableOutput`."""
    dry_run = not given.enforce
    conversions: dict[str, Conversion] = {
        "HorizontalPodAutoscaler": partial(from_hpa, dry_run=dry_run),
        "ScaledObject": partial(
            from_scaled_object,
            dry_run=dry_run,
            as_objects=given.as_objects,
            names=AdapterNames(),
        ),
    }
    return _converted(originals, conversions, rules_file=given.rules, values_file=given.values)


async def migrated_cluster(given: argparse.Namespace, client: Reader, namespace: str) -> int:
    """Convert or, with --compare, compare what is in the cluster; the exit code.

    Raises `StatusError`, `Unavailable`, `WrongInput`, `UnusableOutput` and `NothingFound`.
    """
    check_outputs(given)
    if given.compare:
        return _report(await compared(client, namespace), why=given.why)
    return migrated_documents(given, await read_originals(client, namespace))


def parser_of(
    program: str,
    *,
    all_namespaces: str,
    why: str,
    reads: str = " or ".join(KINDS),
    more: str = "",
    examples: Sequence[tuple[str, str]] = (),
) -> FlagParser:
    """The flags that both have. `all_namespaces`: how an example reads all; `why`: the command that explains a decision;
    `reads`: what is converted.

    `more` continues the description, and `examples` follow those of both.
    """
    parser = FlagParser(
        prog=f"{program} migrate",
        usage="%(prog)s [flags] [FILE...]",
        description="Convert HorizontalPodAutoscalers and ScaledObjects to LoadAutoscalers. They are printed, with mode "
        "DryRun, and nothing in the cluster is changed. What has no counterpart is reported on stderr."
        + more,
        examples=[
            (
                "Convert manifests; write the metrics of Prometheus triggers to a configuration of the adapter",
                f"{program} migrate --rules=rules.yaml hpa.yaml scaledobject.yaml > loadautoscalers.yaml",
            ),
            (
                "Convert everything in a namespace of the cluster",
                f"{program} migrate --namespace=shop > loadautoscalers.yaml",
            ),
            (
                "After `kubectl apply -f loadautoscalers.yaml`: do both set the same replica counts?",
                f"{program} migrate --compare{all_namespaces}",
            ),
            *examples,
        ],
        notes="Exit code 0: every object is converted; with --compare, all agree. 1: the cluster could not be read, the files "
        "have nothing to convert, or there is nothing to compare. 2: a flag or a file is wrong. 3: an object, or a trigger or formula of one, "
        "has no counterpart, or --compare found a difference.",
    )
    parser.set_defaults(why=why, reads=reads)
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="manifests, or - for stdin (default: read the cluster)",
    )
    parser.add_file(
        "--rules", help="write the adapter's configuration for Prometheus triggers to this new file"
    )
    parser.add_file(
        "--values",
        help="write that configuration to this new file, as values of the adapter's chart",
    )
    parser.add_boolean(
        "--enforce",
        help="omit mode DryRun: the LoadAutoscalers scale as soon as they exist, except those without a trigger or formula of their original",
    )
    parser.add_boolean(
        "--as-objects",
        help="convert Prometheus triggers to Object metrics of the scale target, not to External metrics, so that KEDA can go on serving "
        "external.metrics.k8s.io",
    )
    parser.add_boolean(
        "--compare",
        help="compare each LoadAutoscaler of the cluster with the HPA that has the same target",
    )
    return parser


def documents(file: str, *, if_missing: str = "") -> Iterator[Json]:
    """The objects of a manifest; the items of a List one by one. Raises `WrongInput`, which ends with `if_missing` without a file."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        found = list(go_yaml.load_all(go_yaml.decoded_text(content)))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        hint = if_missing if isinstance(error, FileNotFoundError) else ""
        raise WrongInput(unread_file(file, error) + hint) from error
    for each in found:
        if each is not None and not isinstance(each, dict):
            raise WrongInput(f"{file}: a document is not a Kubernetes object")
        if each:
            yield from items_of(each)


def _converted(
    originals: Sequence[Json],
    conversions: Mapping[str, Conversion],
    *,
    rules_file: Path | None,
    values_file: Path | None,
) -> int:
    converted: list[Converted] = []
    failed = False
    for original in originals:
        if original.get("kind") == SCALED_JOB:
            print_error(
                f"{name_of(original)}: LoadAutoscalers do not scale Jobs. Leave it to KEDA."
            )
            failed = True
            continue
        conversion = conversions.get(str(original.get("kind")))
        if conversion is None:
            continue
        try:
            converted.append(conversion(original))
        except Unconvertible as reason:
            print_error(f"{reason}.")
            failed = True
    # First, so that nothing is printed if a file cannot be written.
    notes = _written_rules(converted, rules_file, values_file)
    for sentence in _sentences([remark for each in converted for remark in each.remarks]):
        print_error(sentence)
    if converted:
        print(as_yaml(*(each.autoscaler for each in converted)), end="")
    for note in notes:
        print_error(note)
    skipped = sum(str(each.get("kind")) not in (*conversions, SCALED_JOB) for each in originals)
    others = f"; {skipped} other objects skipped" if skipped else ""
    incomplete = sum(not each.is_complete for each in converted)
    without = (
        f", {incomplete} of them without a trigger or formula, in mode DryRun" if incomplete else ""
    )
    print_error(
        f"{len(converted)} of {len(originals) - skipped} autoscalers converted{without}{others}"
    )
    return FOUND if failed or incomplete else OK


def _written_rules(
    converted: Sequence[Converted], rules_file: Path | None, values_file: Path | None
) -> list[str]:
    """Write the configuration of the adapter to the files; what to say about it. Raises `WrongInput` and `UnusableOutput`."""
    metrics = [metric for each in converted for metric in each.metrics]
    if not metrics:
        return []
    if rules_file is None and values_file is None:
        note = (
            f"{_metrics(len(metrics))} must be added to the adapter: run the command again with --values=FILE for its chart, or with "
            "--rules=FILE for its configuration"
        )
        return [note]
    backends = {backend["name"]: backend for each in converted for backend in each.backends}
    configuration = _configuration(metrics, backends)
    notes = _addresses(backends)
    if rules_file is not None:
        _write(rules_file, configuration)
        counted = _metrics(len(metrics))
        notes.append(f"{rules_file}: {counted} for the configuration of the adapter")
    if values_file is not None:
        notes.append(written_values(values_file, configuration, is_complete=False))
    return notes


def written_values(file: Path, configuration: Json, *, is_complete: bool) -> str:
    """Write a configuration of the adapter, complete or to be added to it, as values of its chart; what to say about the file.

    Raises `WrongInput` if they cannot express it, and `UnusableOutput`.
    """
    try:
        values = chart_values(configuration, is_complete=is_complete)
    except ValueError as error:
        raise WrongInput(f"{file}: {error}") from error
    _write(file, values)
    return f"{file}: values for the chart of the adapter, to be merged into yours"


def _write(file: Path, document: Json) -> None:
    with writing(file):
        file.write_text(as_yaml(document), "utf-8")


def _configuration(metrics: Sequence[Json], backends: Mapping[str, Json]) -> Json:
    """Of the adapter; without `backends` if its own Prometheus is the only one."""
    if len(backends) > 1:
        return {"backends": list(backends.values()), "metrics": list(metrics)}
    return {"metrics": [_of_default_backend(metric) for metric in metrics]}


def _addresses(backends: Mapping[str, Json]) -> list[str]:
    """Which server each backend is."""
    if len(backends) == 1:
        [only] = backends.values()
        return [
            f"The metrics are read from the Prometheus of the adapter, which must be {only['url']}"
        ]
    return [f"Backend {name} is {each['url']}" for name, each in backends.items()]


def _metrics(count: int) -> str:
    return "1 metric" if count == 1 else f"{count} metrics"


def _of_default_backend(metric: Json) -> Json:
    return {name: value for name, value in metric.items() if name != "backend"}


def _sentences(remarks: Sequence[Remark]) -> Iterator[str]:
    """Those of single objects, and then those that several objects have in common."""
    common: dict[tuple[str, str], list[str]] = {}
    for each in remarks:
        if each.is_common:
            common.setdefault((each.field, each.message), []).append(each.object)
        else:
            fix = f" {each.fix}" if each.fix else ""
            yield f"{each.object}: {each.field}: {each.message}.{fix}"
    for (field, message), objects in common.items():
        yield f"{some(objects)}: {field}: {message}."


def _report(comparisons: Sequence[Comparison], *, why: str) -> int:
    if not comparisons:
        raise NothingFound(
            "there is nothing to compare, because no LoadAutoscaler has the same target as an HPA: apply the converted LoadAutoscalers first"
        )
    for each in comparisons:
        print(wrapped(_comparison_line(each, why), screen_columns()))
    agreeing = sum(each.agrees for each in comparisons)
    print(f"{agreeing} of {len(comparisons)} agree", file=sys.stderr)
    return OK if agreeing == len(comparisons) else FOUND


def _comparison_line(comparison: Comparison, why: str) -> str:
    if comparison.agrees:
        return f"{comparison.name}: both set {comparison.original_replicas}"
    if comparison.reason:
        return f"{comparison.name}: cannot be compared: {in_prometheus_words(comparison.reason)}"
    return (
        f"{comparison.name}: the HPA sets {comparison.original_replicas}, the LoadAutoscaler "
        f"{comparison.load_autoscaler_replicas}. Compare again after one sync period; then run: "
        f"{why} {comparison.name}"
    )

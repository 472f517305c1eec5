"""`loadline-adapter migrate FILE`: prometheus-adapter's rules to named metrics with equal values."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from adapter.commands.prometheus_flags import add_prometheus_flags, prometheus_settings
from adapter.config import ConfigError, load
from adapter.config.document import first_document
from adapter.diagnosis.rule_migration import NO_SERIES, MigratedRule
from adapter.runtime.migrating import migrated
from wire.api.status import StatusError, Unavailable
from wire.api.wording import some
from wire.kube.chosen_context import add_context_flags, context_of
from wire.kube.cluster_access import ConnectionConfigError
from wire.process.command_line.messages import print_error
from wire.process.command_line.parsing import FlagParser
from wire.process.command_line.program import DISTRIBUTION
from wire.process.event_loop import run
from wire.process.go_yaml import decoded_text, value_of
from wire.process.yaml_text import as_yaml
from wire.serving.options import ServingConfigError

OK: Final = 0
INCOMPLETE: Final = 1
FAULTY: Final = 2

Json = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Print the new configuration. 0: every rule is replaced that can be; 1: some are not; 2: the file cannot be used."""
    flags = parser()
    given = flags.parse_args(arguments)
    if not given.prometheus_url:
        flags.error("--prometheus-url is required: the values are compared there")
    try:
        configuration = load(given.file)
        rules = run(
            migrated(
                given.file,
                configuration,
                prometheus=prometheus_settings(flags, given),
                kubeconfig=given.kubeconfig,
                context=context_of(given),
                user_agent=f"loadline-adapter-migrate/{version(DISTRIBUTION)}",
            )
        )
    except (StatusError, Unavailable) as error:
        print_error(f"loadline-adapter migrate: {error.message}")
        return INCOMPLETE
    except (ConfigError, ConnectionConfigError, ServingConfigError, OSError, ValueError) as error:
        print_error(f"loadline-adapter migrate: {error}")
        return FAULTY
    document = first_document(decoded_text(given.file.read_bytes()))
    original: Json = (value_of(document) if document is not None else None) or {}
    print(as_yaml(new_configuration(original, rules)), end="")
    for sentence in sentences(rules, given.file):
        print_error(sentence)
    return exit_code(rules)


def parser() -> FlagParser:
    """The flags of `migrate`."""
    parser = FlagParser(
        prog="loadline-adapter migrate",
        usage="%(prog)s [flags] FILE",
        description="Replace the rules of a configuration by named metrics, which are available at once and need no discovery. "
        "A rule is replaced only if its query is proven to have the same rows, and the values of all its objects are equal in "
        "Prometheus now. The new configuration is printed; FILE is not changed.",
        examples=[
            (
                "Print the new configuration",
                "loadline-adapter migrate config.yaml --prometheus-url=http://localhost:9090 > new.yaml",
            ),
            (
                "Map labels to the custom resources of the cluster too",
                "loadline-adapter migrate config.yaml --prometheus-url=http://localhost:9090 --kubeconfig=$HOME/.kube/config",
            ),
        ],
        notes="Rules that are not replaced stay as they are and work unchanged; stderr says why.\n\n"
        "Exit code 0: every rule is replaced, except those for which there is nothing to fix, such as externalRules. 1: a rule could not be replaced: "
        "Prometheus has no series for it or did not answer, its labels are not mapped, or values differ. 2: the file or a flag is wrong.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file given to --config")
    parser.add_file(
        "--kubeconfig",
        help="kubeconfig of the cluster whose resources labels are mapped to "
        "(default: no cluster, only the resources built into Kubernetes)",
    )
    add_context_flags(parser)
    add_prometheus_flags(parser, default_url="")
    return parser


def new_configuration(original: Json, rules: Sequence[MigratedRule]) -> Json:
    """The configuration with `metrics` in place of the rules that have them; of equal names, the later rule's stays."""
    replaced = {rule.path for rule in rules if not rule.problem}
    kept = [
        block
        for index, block in enumerate(original.get("rules") or [])
        if f"rules[{index}]" not in replaced
    ]
    metrics = {
        (metric.block["name"], metric.block["describes"]): metric.block
        for rule in rules
        for metric in rule.metrics
    }
    own = {
        (block["name"], block.get("describes")): block for block in original.get("metrics") or []
    }
    changed = {**original, "rules": kept, "metrics": list({**metrics, **own}.values())}
    return {name: value for name, value in changed.items() if value}


def exit_code(rules: Sequence[MigratedRule]) -> int:
    """Rules that stay for good do not make the result incomplete."""
    return INCOMPLETE if any(rule.problem and not rule.is_done for rule in rules) else OK


def sentences(rules: Sequence[MigratedRule], file: Path) -> Iterator[str]:
    """One for each rule that is replaced, and one for each cause for which rules are kept, where the first of them is."""
    done: dict[str, list[MigratedRule]] = {}
    for rule in rules:
        if rule.is_done:
            done.setdefault(rule.problem, []).append(rule)
    for rule in rules:
        if not rule.problem:
            yield _replaced(rule)
        elif not rule.is_done:
            check = f"; loadline-adapter check {file} says why" if rule.problem == NO_SERIES else ""
            yield f"{rule.path} is kept: {rule.problem}{check}"
        elif rule is done[rule.problem][0]:
            yield _done(done[rule.problem])


def _done(rules: Sequence[MigratedRule]) -> str:
    """All of them stay for the same cause."""
    one = len(rules) == 1
    names = some([rule.path for rule in rules])
    works = "It works" if one else "They work"
    cause = rules[0].problem
    return (
        f"{names} {'is' if one else 'are'} kept: {cause}. {works} unchanged; nothing has to be done"
    )


def _replaced(rule: MigratedRule) -> str:
    compared = sum(metric.compared for metric in rule.metrics)
    names = ", ".join(f"{each.block['name']} of {each.block['describes']}" for each in rule.metrics)
    objects = "1 object" if compared == 1 else f"{compared} objects"
    sentence = f"{rule.path} is replaced by {names}: the values of {objects} are equal"
    if any(each.of_namespaces for each in rule.metrics):
        sentence += ". Keep the rule if an autoscaler reads this metric for a Namespace, which named metrics do not support"
    return sentence

"""The configuration file: YAML (or JSON) text to validated rules.

prometheus-adapter's file is read unchanged; `metrics` and `backends`, and `signal` and `backend` on a rule, are
Loadline's own. All problems are found at once, and every text is validated here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import yaml

from adapter.config.backends import read_backends
from adapter.config.discovery_rules import read_resource_rules, read_rule
from adapter.config.document import Block, Problems, read_document
from adapter.config.named_metrics import read_metrics
from adapter.config.problems import ConfigError, ConfigProblem, ProblemCode
from adapter.model import Backend, DiscoveryRule, NamedRule, ResourceRules, Rule
from wire.process.go_yaml import decoded_text

__all__ = [
    "ConfigError",
    "ConfigProblem",
    "Configuration",
    "ProblemCode",
    "decode",
    "load",
    "parse",
    "parse_node",
    "unreadable",
]


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What the adapter serves. A later one of `rules` serves a metric instead of an earlier one."""

    rules: tuple[Rule, ...] = ()
    resource_rules: ResourceRules | None = None
    backends: tuple[Backend, ...] = ()
    warnings: tuple[ConfigProblem, ...] = ()

    @property
    def serves_custom(self) -> bool:
        """Whether custom.metrics.k8s.io is served; as in prometheus-adapter, a group without rules is not."""
        return any(_is_custom(rule) for rule in self.rules)

    @property
    def serves_external(self) -> bool:
        """Whether external.metrics.k8s.io is served."""
        return any(not _is_custom(rule) for rule in self.rules)

    @property
    def serves_usage(self) -> bool:
        """Whether metrics.k8s.io is served."""
        return self.resource_rules is not None


def _is_custom(rule: Rule) -> bool:
    return not rule.external if isinstance(rule, DiscoveryRule) else rule.describes is not None


def load(path: Path) -> Configuration:
    """The configuration of a file; raises `ConfigError` with every problem found."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    return decode(content, file=path)


def decode(content: bytes, *, file: Path) -> Configuration:
    """The configuration in the content of a file; raises `ConfigError` with every problem found."""
    try:
        text = decoded_text(content)
    except UnicodeDecodeError as error:
        raise unreadable(file, error) from None
    return parse(text, file=str(file))


def unreadable(
    file: Path,
    error: OSError | UnicodeDecodeError | str,
    *,
    fix: str = "Check --config and its mount.",
) -> ConfigError:
    """The error for a file without readable text."""
    cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, UnicodeDecodeError):
        cause, fix = "it is not UTF-8", "Save it as UTF-8."
    problem = ConfigProblem(
        code=ProblemCode.UNREADABLE,
        path="(file)",
        line=0,
        problem=f"cannot be read: {cause}",
        fix=fix,
    )
    return ConfigError(str(file), [problem])


def parse(text: str, *, file: str = "configuration") -> Configuration:
    """The configuration of a text; raises `ConfigError` with every problem found."""
    problems = Problems()
    return _parsed(lambda: read_document(text, problems), problems, file)


def parse_node(node: yaml.MappingNode, *, file: str, may_be_empty: bool = False) -> Configuration:
    """The same for a mapping in a YAML document. `may_be_empty`: rules may come from elsewhere."""
    problems = Problems()
    return _parsed(lambda: Block("", node, problems), problems, file, may_be_empty=may_be_empty)


def _parsed(
    read: Callable[[], Block | None], problems: Problems, file: str, *, may_be_empty: bool = False
) -> Configuration:
    try:
        top = read()
        configuration = None if top is None else _read(top, problems, may_be_empty=may_be_empty)
    except RecursionError:
        problems.error(
            ProblemCode.NESTED_TOO_DEEPLY,
            None,
            "(file)",
            "blocks are nested too deeply",
            "Look for a list or an anchor that contains itself.",
        )
        configuration = None
    if problems.errors or configuration is None:
        raise ConfigError(file, _by_line(problems.errors), warnings=_by_line(problems.warnings))
    return configuration


def _read(top: Block, problems: Problems, *, may_be_empty: bool) -> Configuration:
    backends = read_backends(top)
    custom = [read_rule(block, external=False, backends=backends) for block in top.blocks("rules")]
    external = [
        read_rule(block, external=True, backends=backends) for block in top.blocks("externalRules")
    ]
    named: tuple[NamedRule, ...] = read_metrics(top, backends)
    resource_rules = read_resource_rules(top, backends)
    top.close()
    rules: tuple[Rule, ...] = (*custom, *external, *named)
    if not rules and resource_rules is None and not may_be_empty:
        problems.warning(
            ProblemCode.NO_RULES,
            None,
            "(file)",
            "there is no rule, so no metrics API is served",
            "Add `rules`, `externalRules`, `metrics` or `resourceRules`.",
        )
    return Configuration(
        rules=rules,
        resource_rules=resource_rules,
        backends=backends,
        warnings=_by_line(problems.warnings),
    )


def _by_line(problems: Sequence[ConfigProblem]) -> tuple[ConfigProblem, ...]:
    """In the order of the file."""
    return tuple(sorted(problems, key=lambda problem: problem.line))

"""Flags to options, or to a message that names the flag."""

from pathlib import Path

import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import NEWEST, upstream_of
from scaler.runtime.adapter_options import AdapterOptions
from scaler.runtime.flags import Options
from scaler.runtime.run import parse
from wire.prometheus.options import PrometheusOptions

HPAS = f"--watch={HORIZONTAL_POD_AUTOSCALERS.plural}"
HPAS_OF_1_36 = (HPAS, "--kubernetes-version=1.36")


def test_the_defaults_are_those_of_kube_controller_manager():
    options = parse([])
    assert options == Options()
    assert (options.settings.kind, options.settings.sync_period_seconds) == (LOAD_AUTOSCALERS, 15.0)
    settings = options.settings
    assert (settings.tolerance, settings.downscale_stabilization_seconds) == (0.1, 300.0)
    assert settings.cpu_initialization_period_seconds == 300.0
    assert settings.initial_readiness_delay_seconds == 30.0
    assert options.serving.secure_port == 10443


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(
            [
                "--sync-period=1m30s",
                "--downscale-stabilization=0s",
                "--cpu-initialization-period=2m",
                "--initial-readiness-delay=500ms",
                "--tolerance=0.2",
            ],
            id="short",
        ),
        pytest.param(
            [
                "--horizontal-pod-autoscaler-sync-period=1m30s",
                "--horizontal-pod-autoscaler-downscale-stabilization=0s",
                "--horizontal-pod-autoscaler-cpu-initialization-period=2m",
                "--horizontal-pod-autoscaler-initial-readiness-delay=500ms",
                "--horizontal-pod-autoscaler-tolerance=0.2",
            ],
            id="as of kube-controller-manager",
        ),
    ],
)
def test_the_flags_of_the_algorithm_have_a_short_and_a_long_name(arguments):
    options = parse(arguments)
    settings = options.settings
    assert options.settings.sync_period_seconds == 90
    assert settings.downscale_stabilization_seconds == 0
    assert settings.cpu_initialization_period_seconds == 120
    assert settings.initial_readiness_delay_seconds == 0.5
    assert settings.tolerance == 0.2


@pytest.mark.deviation("concurrent-reconciles")
def test_twenty_reconciles_run_at_once_by_default():
    """kube-controller-manager: 5."""
    assert parse([]).concurrent_syncs == 20


@pytest.mark.parametrize(
    "name", ["--concurrent-syncs", "--concurrent-horizontal-pod-autoscaler-syncs"]
)
def test_the_number_of_concurrent_syncs_has_two_names(name):
    assert parse([f"{name}=7"]).concurrent_syncs == 7


@pytest.mark.parametrize(
    ("arguments", "namespaces"),
    [
        pytest.param([], (), id="all"),
        pytest.param(["--namespace=shop"], ("shop",), id="one"),
        pytest.param(
            ["--namespace=shop,bank", "--namespace", "shop"], ("shop", "bank"), id="several"
        ),
    ],
)
def test_namespaces_are_repeated_or_separated_by_commas_and_kept_once(arguments, namespaces):
    assert parse(arguments).namespaces == namespaces


@pytest.mark.parametrize(
    ("arguments", "scale_to_zero"),
    [
        pytest.param([], True, id="LoadAutoscalers"),
        pytest.param([*HPAS_OF_1_36], False, id="HPAs before Kubernetes 1.37"),
        pytest.param([HPAS], True, id="HPAs of the newest Kubernetes"),
        pytest.param([*HPAS_OF_1_36, "--feature-gates=HPAScaleToZero=true"], True, id="by gate"),
        pytest.param(["--feature-gates=HPAScaleToZero=false"], False, id="off by gate"),
    ],
)
def test_scaling_to_zero_is_on_by_version_unless_a_gate_says_otherwise(arguments, scale_to_zero):
    assert parse(arguments).settings.scales_to_zero is scale_to_zero


@pytest.mark.parametrize(
    ("arguments", "minor"),
    [
        pytest.param([HPAS, "--kubernetes-version=1.35"], 35, id="the oldest"),
        pytest.param([HPAS, "--kubernetes-version=v1.36.3"], 36, id="as kubectl prints it"),
        pytest.param([HPAS], 37, id="until the version of the server is read"),
        pytest.param([], 37, id="LoadAutoscalers"),
    ],
)
def test_a_version_has_the_traits_of_its_controller(arguments, minor):
    assert parse(arguments).settings.upstream == upstream_of(minor)


@pytest.mark.parametrize("version", ["1.34", "1.38", "latest", ""])
def test_a_version_without_a_known_controller_is_refused(version, capsys):
    with pytest.raises(SystemExit):
        parse([HPAS, f"--kubernetes-version={version}"])
    assert "use one of 1.35, 1.36, 1.37" in capsys.readouterr().err


def test_a_version_is_refused_for_load_autoscalers_which_have_none(capsys):
    with pytest.raises(SystemExit):
        parse(["--kubernetes-version=1.36"])
    assert "add --watch=horizontalpodautoscalers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gate", "trait"),
    [
        ("HPAGeneration", "keeps_generations"),
        ("HPAOptimizedSelectorStore", "names_two_of_ambiguous"),
        ("StaleControllerConsistencyHPA", "skips_outdated_reads"),
    ],
)
def test_a_gate_that_is_off_restores_the_former_behavior_in_every_version(gate, trait):
    settings = parse([HPAS, f"--feature-gates={gate}=false"]).settings
    assert getattr(NEWEST, trait)
    assert not getattr(settings.upstream, trait)
    assert not getattr(settings.of_version(NEWEST).upstream, trait)


def test_hpas_can_be_watched_instead():
    assert parse(["--watch=horizontalpodautoscalers"]).settings.kind is HORIZONTAL_POD_AUTOSCALERS


def test_sharding_uses_the_times_of_leader_election():
    election = parse(["--sharding", "--leader-elect-lease-duration=30s"]).leader_election
    assert election.sharding
    assert election.times.lease_seconds == 30
    assert not parse([]).leader_election.sharding


def test_leader_election_has_the_flags_of_kubernetes():
    options = parse(
        ["--leader-elect", "--leader-elect-lease-duration=30s", "--leader-elect-resource-name=x"]
    )
    election = options.leader_election
    assert (election.enabled, election.times.lease_seconds, election.resource_name) == (
        True,
        30,
        "x",
    )
    assert not parse(["--leader-elect=false"]).leader_election.enabled


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["--reconcile-on-change", "--stream-metrics=never"], id="no stream"),
        pytest.param(["--stream-metrics", "--adapter-connection=never"], id="no connection"),
        pytest.param(["--adapter-service=a/b", "--adapter-connection=never"], id="no use"),
        pytest.param(["--adapter-token-file=t"], id="a token for which adapter"),
        pytest.param(
            [
                "--adapter-token-file=t",
                "--adapter-token-service-account=c/d",
                "--adapter-service=a/b",
            ],
            id="two identities",
        ),
    ],
)
def test_flags_of_the_adapter_that_contradict_each_other_are_refused(flags, capsys):
    with pytest.raises(SystemExit):
        parse(flags)
    assert flags[0].partition("=")[0] in capsys.readouterr().err


def test_every_adapter_is_read_directly_unless_a_flag_says_otherwise():
    assert parse([]).adapter == Options().adapter == AdapterOptions()
    assert parse(["--adapter-connection=never"]).adapter is None
    given = parse(["--adapter-service=monitoring/adapter", "--adapter-url=https://a:1/"])
    assert given.adapter == AdapterOptions(service=("monitoring", "adapter"), url="https://a:1")


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--stream-metrics", "always"),
        ("--stream-metrics=true", "always"),
        ("--stream-metrics=false", "never"),
        ("--stream-metrics=auto", "auto"),
        ("--stream-metrics=never", "never"),
    ],
)
def test_a_boolean_is_always_or_never(flag, expected):
    assert parse([flag]).adapter.streams == expected


@pytest.mark.parametrize(
    ("flags", "kind", "reacts"),
    [
        pytest.param([], "loadautoscalers", True, id="LoadAutoscalers by default"),
        pytest.param([], "horizontalpodautoscalers", False, id="HPAs keep upstream's period"),
        pytest.param(["--reconcile-on-change"], "horizontalpodautoscalers", True, id="on request"),
        pytest.param(["--reconcile-on-change=never"], "loadautoscalers", False, id="never"),
        pytest.param(["--stream-metrics=never"], "loadautoscalers", False, id="without a stream"),
    ],
)
def test_a_changed_metric_brings_reconciles_forward(flags, kind, reacts):
    options = parse([*flags, f"--watch={kind}"])
    assert options.adapter.reacts(options.settings.kind) == reacts


def test_forecasts_learn_from_recorded_history_only_on_request():
    assert parse([]).prometheus is None
    given = parse(
        [
            "--adapter-service=monitoring/adapter", "--prometheus-url=https://prometheus:9090", "--prometheus-header=X-Scope-OrgID=7",
            "--prometheus-username=me", "--prometheus-password-file=p", "--prometheus-ca-file=ca",
        ]
    )  # fmt: skip
    assert given.prometheus == PrometheusOptions(
        url="https://prometheus:9090",
        headers=(("X-Scope-OrgID", "7"),),
        username="me",
        password_file=Path("p"),
        ca_file=Path("ca"),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ("--prometheus-url=http://p", "--adapter-connection=never"),
            "requires a direct connection",
            id="no adapter",
        ),
        pytest.param(("--prometheus-token-file=t",), "require --prometheus-url", id="no URL"),
        pytest.param(("--prometheus-url=p", "--adapter-service=a/b"), "must look like", id="URL"),
        pytest.param(
            (
                "--prometheus-url=http://p",
                "--adapter-service=a/b",
                "--prometheus-client-tls-key-file=k",
            ),
            "must be given together",
            id="half a certificate",
        ),
        pytest.param(("--prometheus-header=s3cret",), "not of the form NAME=VALUE", id="header"),
    ],
)
def test_flags_of_prometheus_that_do_not_fit_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        parse(arguments)
    error = capsys.readouterr().err
    assert message in error
    assert "s3cret" not in error


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        pytest.param("--sync-period=15", "'15' is not a duration", id="no unit"),
        pytest.param("--sync-period=0s", "0s must be greater than 0", id="no time"),
        pytest.param("--downscale-stabilization=-1s", "-1s must not be negative", id="negative"),
        pytest.param("--tolerance=-0.1", "'-0.1' is not a ratio of 0 or more", id="tolerance"),
        pytest.param("--tolerance=nan", "'nan' is not a ratio of 0 or more", id="no number"),
        pytest.param(
            "--concurrent-syncs=0", "'0' is not a whole number of 1 or more", id="no worker"
        ),
        pytest.param("--watch=pods", "invalid choice: 'pods'", id="kind"),
        pytest.param("--feature-gates=Magic=true", "unknown feature gate 'Magic'", id="gate"),
        pytest.param(
            "--feature-gates=HPAScaleToZero", "'' is neither true nor false", id="half a gate"
        ),
        pytest.param("--leader-elect-lease-duration=1s", "must be longer than", id="lease"),
        pytest.param("--color=blue", "unknown flag --color", id="unknown"),
        pytest.param("--adapter-service=adapter", "form NAMESPACE/NAME", id="service"),
        pytest.param("--adapter-url=http://a", "'http://a' is not a URL", id="no TLS"),
        pytest.param("--stream-metrics=maybe", "must be auto, never or always", id="choice"),
    ],
)
def test_a_wrong_flag_exits_with_2_and_says_what_is_wrong(argument, message, capsys):
    with pytest.raises(SystemExit) as ended:
        parse([argument])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert "loadline-scaler --help" in error


@pytest.mark.parametrize(
    ("flags", "seconds"),
    [
        pytest.param([], 60.0, id="LoadAutoscalers"),
        pytest.param(["--watch=horizontalpodautoscalers"], 0.0, id="HPAs, as upstream"),
        pytest.param(["--metric-status-max-age=0s"], 0.0, id="off"),
        pytest.param(
            ["--watch=horizontalpodautoscalers", "--metric-status-max-age=2m"], 120.0, id="given"
        ),
    ],
)
def test_metric_values_in_the_status_may_be_old_except_those_of_hpas(flags, seconds):
    assert parse(flags).settings.metric_status_max_age_seconds == seconds

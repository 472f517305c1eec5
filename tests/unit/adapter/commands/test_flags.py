"""A Deployment of prometheus-adapter becomes one of Loadline by changing its image: its flags are accepted."""

from pathlib import Path

import pytest

from adapter.certificates.managed_certificate import ManagedCertificateOptions
from adapter.commands.server_flags import parse
from adapter.config import Configuration, decode
from wire.serving.options import ServingConfigError

# `prometheus-adapter --help` of v0.12.0: a flag and its kind on each line.
DISCOVERED = Path(__file__).with_name("prometheus_adapter_flags.txt")
SAMPLES = {
    "": "true",
    "Level": "4",
    "duration": "15m",
    "float32": "20.5",
    "int": "8443",
    "ip": "127.0.0.1",
    "moduleSpec": "client=6",
    "namedCertKey": "a.crt,a.key",
    "string": "some",
    "stringArray": "X-Scope-OrgID=a",
    "strings": "a,b",
}
SPECIAL = {
    "prometheus-url": "http://p:9090",
    "prometheus-verb": "POST",
    "tls-min-version": "VersionTLS12",
    "tls-cipher-suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
}
ALONE = {"prometheus-auth-config", "prometheus-auth-incluster"}
PAIRS = {
    "prometheus-client-tls-cert-file": "--prometheus-client-tls-key-file=k",
    "prometheus-client-tls-key-file": "--prometheus-client-tls-cert-file=c",
}


def flags_of_prometheus_adapter() -> list[tuple[str, str]]:
    lines = DISCOVERED.read_text().splitlines()
    return [(name, kind) for name, _, kind in (line.partition(" ") for line in lines)]


OLD_SERIES = ["--config=c", "--metrics-relist-interval=10m", "--metrics-max-age=5m"]


def test_a_maximum_age_below_the_relist_interval_is_refused_with_rules_of_series():
    [rule] = decode(b"rules: [{seriesQuery: up, metricsQuery: up}]", file=Path("c")).rules
    with pytest.raises(ServingConfigError, match="--metrics-relist-interval"):
        parse(OLD_SERIES).check_with(Configuration(rules=(rule,)))


@pytest.mark.parametrize(
    "text", [b"externalRules: [{seriesQuery: up, metricsQuery: up}]", b"rules: []"]
)
def test_without_rules_the_maximum_age_may_be_below_the_relist_interval(text):
    parse(OLD_SERIES).check_with(decode(text, file=Path("c")))


@pytest.mark.parametrize(("name", "kind"), flags_of_prometheus_adapter(), ids=lambda text: text)
def test_every_flag_of_prometheus_adapter_is_accepted(name, kind):
    value = SPECIAL.get(name, SAMPLES[kind])
    more = [PAIRS[name]] if name in PAIRS else []
    assert parse(["--config=c", *more, f"--{name}={value}"])


def test_the_arguments_of_the_prometheus_adapter_chart_are_accepted():
    flags = parse(
        [
            "--secure-port=6443",
            "--cert-dir=/tmp/cert",
            "--prometheus-url=http://prometheus.default.svc:9090",
            "--metrics-relist-interval=1m",
            "--v=4",
            "--config=/etc/adapter/config.yaml",
        ]
    )
    assert flags.config == Path("/etc/adapter/config.yaml")
    assert flags.prometheus.backend.url == "http://prometheus.default.svc:9090"
    assert (flags.times.relist_seconds, flags.times.max_age_seconds) == (60.0, 60.0)
    assert (flags.serving.secure_port, flags.logging.verbosity) == (6443, 4)


def test_prometheus_may_want_a_user_and_few_queries_at_once():
    flags = parse(
        [
            "--config=c",
            "--prometheus-username=me",
            "--prometheus-password-file=/etc/password",
            "--prometheus-concurrency=7",
            "--wide-queries=false",
        ]
    )
    backend = flags.prometheus.backend
    assert (backend.username, backend.password_file) == ("me", Path("/etc/password"))
    assert (backend.concurrency_max, flags.wide_queries) == (7, False)


def test_a_managed_certificate_has_a_secret_a_service_and_what_trusts_it():
    flags = parse(
        [
            "--config=c",
            "--managed-certificate-secret=monitoring/certificate",
            "--managed-certificate-service=monitoring/adapter",
            "--managed-certificate-api-services=v1beta1.external.metrics.k8s.io",
        ]
    )
    assert flags.managed_certificate == ManagedCertificateOptions(
        secret=("monitoring", "certificate"),
        service=("monitoring", "adapter"),
        api_services=("v1beta1.external.metrics.k8s.io",),
    )


def test_headers_may_repeat_and_hold_equal_signs():
    flags = parse(["--config=c", "--prometheus-header=A=b=c", "--prometheus-header=D"])
    assert flags.prometheus.backend.headers == (("A", "b=c"), ("D", ""))


@pytest.mark.deviation("unusable-flags")
@pytest.mark.parametrize(
    "header",
    [
        pytest.param("Authorization: Bearer s3cret", id="a colon"),
        pytest.param("=s3cret", id="no name"),
        pytest.param("X-Scope OrgID=s3cret", id="a space in the name"),
        pytest.param("X-Token=s3cret\n", id="a line break"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_text(header, capsys):
    with pytest.raises(SystemExit) as end:
        parse(["--config=c", f"--prometheus-header={header}"])
    shown = capsys.readouterr().err
    assert end.value.code == 2
    assert "--prometheus-header" in shown
    assert "s3cret" not in shown


def test_a_header_that_the_client_sets_itself_is_named_as_ignored():
    headers = ["--prometheus-header=host=s3cret", "--prometheus-header=X-Scope-OrgID=a"]
    [ignored] = parse(["--config=c", *headers]).ignored
    assert ignored.startswith("--prometheus-header=host is ignored: ")
    assert "s3cret" not in ignored


@pytest.mark.parametrize(
    "identities",
    [
        ("--prometheus-auth-incluster",),
        ("--prometheus-auth-config=k",),
        ("--prometheus-auth-incluster", "--prometheus-auth-config=k"),
    ],
)
def test_beside_a_ca_file_an_identity_of_the_cluster_is_named_as_ignored(identities):
    ignored = parse(["--config=c", "--prometheus-ca-file=a", *identities]).ignored
    names = [each.partition("=")[0] for each in identities]
    assert [text.partition(" is ignored: ")[0] for text in ignored] == names


def test_an_empty_minimum_version_of_tls_is_the_default():
    assert parse(["--config=c", "--tls-min-version="]).serving.tls_min_version == "VersionTLS12"


def test_an_ignored_flag_is_named_with_the_reason():
    ignored = parse(["--config=c", "--client-qps=50", "--disable-http2"]).ignored
    assert [text.split(" ")[0] for text in ignored] == ["--client-qps", "--disable-http2"]
    assert all(" is ignored: " in text for text in ignored)


@pytest.mark.deviation("client-certificate-without-ca", "unusable-flags")
@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        pytest.param([], "--config", id="no configuration"),
        pytest.param(["--config=c", "--prometheus-url=p:9090"], "http://host:9090", id="URL"),
        pytest.param(
            ["--config=c", "--prometheus-url=http://p/%zz"], "two hexadecimal digits", id="percent"
        ),
        pytest.param(["--config=c", "--prometheus-url=http://p:x"], "port", id="port"),
        pytest.param(
            ["--config=c", "--prometheus-url=http://p/a\n"], "control character", id="line break"
        ),
        pytest.param(
            ["--config=c", "--prometheus-auth-incluster", "--prometheus-auth-config=k"],
            "mutually exclusive",
            id="two identities",
        ),
        pytest.param(
            ["--config=c", "--prometheus-client-tls-key-file=k"],
            "must be given together",
            id="key alone",
        ),
        pytest.param(["--config=c", "--prometheus-verb=PUT"], "--prometheus-verb", id="verb"),
        pytest.param(["--config=c", "--prometheus-timeout=5"], "--prometheus-timeout", id="unit"),
        pytest.param(["--config=c", "--prometheus-concurrency=0"], "above 0", id="nothing at once"),
        pytest.param(["--config=c", "--colour"], "--colour", id="unknown"),
    ],
)
def test_a_wrong_flag_ends_with_2_and_is_named(arguments, reported, capsys):
    with pytest.raises(SystemExit) as end:
        parse(arguments)
    assert end.value.code == 2
    assert reported in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "ignored"),
    [
        pytest.param(["--prometheus-auth-incluster", "false"], "1 word is", id="a boolean"),
        pytest.param(["--profiling", "false"], "1 word is", id="an ignored boolean"),
        pytest.param(["stray", "-"], "2 words are", id="stray words"),
        pytest.param(["--", "x", "--unknown"], "2 words are", id="after the end of the flags"),
    ],
)
def test_words_that_belong_to_no_flag_are_ignored_as_by_prometheus_adapter(words, ignored):
    settings = parse(["--config=c", *words, *([] if "--" in words else ["--secure-port=1"])])
    [sentence] = [each for each in settings.ignored if "word" in each]
    assert sentence.startswith(f"{ignored} ignored on the command line")


def test_an_ignored_word_is_not_shown_since_it_may_be_a_secret():
    settings = parse(["--config=c", "--prometheus-header=Authorization=Bearer", "s3cret"])
    assert "s3cret" not in str(settings.ignored)


@pytest.mark.parametrize("unknown", ["--unknown", "--unknown=1", "-5"])
def test_an_unknown_flag_is_an_error_beside_ignored_words(unknown, capsys):
    with pytest.raises(SystemExit):
        parse(["--config=c", "word", unknown])
    assert f"unknown flag {unknown.partition('=')[0]}" in capsys.readouterr().err

"""Command lines, as people have them for other API servers."""

from pathlib import Path

import msgspec
import pytest

from wire.process.command_line.parsing import FlagParser
from wire.serving.options import IGNORED, ServingOptions, add_flags, from_arguments


def options(*arguments):
    parser = FlagParser(prog="loadline")
    add_flags(parser, secure_port=6443)
    parser.add_argument("command", nargs="?")
    given = parser.parse_args(arguments)
    return from_arguments(given), given.command


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], {}, id="none"),
        pytest.param(["--secure-port=0"], {"secure_port": 0}, id="off"),
        pytest.param(["--secure_port", "1"], {"secure_port": 1}, id="underscores"),
        pytest.param(["--cert-dir=/tmp/c"], {"cert_dir": Path("/tmp/c")}, id="a folder"),
        pytest.param(["--cert-dir="], {}, id="an empty value is none"),
        pytest.param(
            ["--authentication-skip-lookup"], {"authentication_skip_lookup": True}, id="a boolean"
        ),
        pytest.param(["--authentication-skip-lookup=F"], {}, id="a boolean set to false"),
        pytest.param(
            ["--api-audiences=adapter,loadline"],
            {"api_audiences": ("adapter", "loadline")},
            id="several audiences",
        ),
        pytest.param(
            ["--tls-min-version=VersionTLS13"], {"tls_min_version": "VersionTLS13"}, id="TLS 1.3"
        ),
        pytest.param(["--bind-address=::1"], {"bind_address": "::1"}, id="an address"),
        pytest.param(
            ["--authentication-tolerate-lookup-failure=true"],
            {"authentication_tolerate_lookup_failure": True},
            id="a boolean with its value",
        ),
        pytest.param(
            ["--authorization-webhook-cache-unauthorized-ttl=0s"],
            {"authorization_denied_cache_seconds": 0.0},
            id="no duration",
        ),
        pytest.param(
            ["--authentication-token-webhook-cache-ttl=1m30s"],
            {"authentication_token_cache_seconds": 90.0},
            id="a duration",
        ),
        pytest.param(
            ["--authorization-always-allow-paths=/a,/b", "--authorization-always-allow-paths=/c*"],
            {"authorization_always_allow_paths": ("/a", "/b", "/c*")},
            id="a list",
        ),
        pytest.param(["--profiling=false", "--contention-profiling"], {}, id="what is ignored"),
    ],
)
def test_flags_are_read_as_pflag_reads_them(arguments, expected):
    expected = ServingOptions(**({"secure_port": 6443} | expected))
    given, command = options(*arguments)
    assert (msgspec.structs.replace(given, ignored=()), command) == (expected, None)


def test_a_boolean_takes_no_word_after_it():
    given, command = options("--authentication-skip-lookup", "run")
    assert (given.authentication_skip_lookup, command) == (True, "run")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--secure-port=70000"], "70000", id="a port"),
        pytest.param(
            ["--authentication-skip-lookup=maybe"], "neither true nor false", id="a boolean"
        ),
        pytest.param(["--authorization-webhook-cache-authorized-ttl=10"], "10", id="a duration"),
        pytest.param(["--tls-min-version=TLS1"], "VersionTLS12", id="a choice"),
        pytest.param(
            ["--secure-por=1"], "--secure-por: did you mean --secure-port?", id="an abbreviation"
        ),
    ],
)
def test_a_wrong_flag_ends_with_2_and_says_which(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        options(*arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.deviation("one-certificate")
@pytest.mark.parametrize("name", sorted(IGNORED))
def test_a_flag_without_effect_is_reported_as_ignored(name):
    given, _ = options(f"--{name}={'true' if IGNORED[name][1] else 'x'}")
    assert given.ignored == (f"--{name} is ignored: {IGNORED[name][0]}",)


def test_a_flag_that_is_not_given_is_not_reported():
    given, _ = options("--secure-port=1")
    assert given.ignored == ()

"""Plain English: words that only this project would use, and what the documentation of Kubernetes and Prometheus says."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THIS_FILE = Path(__file__).relative_to(ROOT).as_posix()

# Patterns in lower case, and what to write instead. Names are split into words first: `reloadAnew` and `reload_anew`
# are "reload anew". A space matches a line break too.
WORDS = {
    r"looks?(?! up| for| like)|looked(?! up| for| like)|looking(?! up| for| like)": "reconcile (noun and verb); read, check, see",
    r"peers?": "prometheus-adapter, kube-controller-manager, the HPA controller",
    r"ours": "Loadline",
    r"of (yours|ours|mine|theirs|one's own)": "your, an existing",
    r"mend(s|ed|ing)?": "fix",
    r"anew|afresh": "again",
    r"doors?": "package, module, entry point",
    r"rooms?": "package, module; capacity, space",
    r"told|tells|telling": "says, reports, explains, returns",
    r"heard|hears": "received, reported",
    r"(?<!there )(is|are) no (?!longer|more|less|fewer|other|match)": "is not a, is not a valid",
    r"as before": "unchanged",
    r"askers?|asked|who asks": "client, user; requested, sent",
    r"questions?": "request, query",
    r"beats?": "period, interval",
    r"anybody|somebody|nobody|everybody|whoever|whom": "the client, the user, no user, all users",
    r"for ever": "forever, indefinitely",
    r"in force": "active, current",
    r"comes? about|came about|coming about": "is computed, is created",
    r"(held|holds?|holding) against": "compared with",
    r"dice": "randomness",
    r"strangers?": "unknown, unprivileged, unrelated",
    r"upkeep": "background tasks",
    r"triers?": "checker",
    r"surroundings": "environment, context",
    r"(stands?|standing|stood) back": "does not scale the target",
    r"(stands?|stood) (at|above|below|behind|there|here|first|last)|(stands|stood) in(?! for)": "is",
    r"fails never|never (is|are|was|were)": "never fails, is never",
    r"lest": "so that ... not",
    r"lately": "recently",
    r"as delivered": "by default",
    r"(taken|takes|taking|took) up": "reloaded, applied",
    r"thence|whence|hence|thereof|whereof|thereby|whereby|wherein": "from it, of it, so that",
}
# Where such a word is correct: the path, the text, and why.
ALLOWED = (
    (r"", r"network policy peers", "the term of the Kubernetes API"),
    (
        r"",
        r"server has asked for the client|has asked us to try again|we asked for exactly one",
        "texts of client-go and the HPA controller",
    ),
    (r"", r"peer certificate|peer name|get ?peer ?cert", "the term of TLS and of sockets"),
    (r"^testbed/oracle/scaler/cases\.py$", r"question", "a key in the recorded vectors"),
    (r"^testbed/(cluster|component_flags)\.py$", r"peer", "the term of etcd"),
    (
        r"^testbed/oracle/adapter/cluster\.go$",
        r"stranger",
        "the name of a pod in the recorded vectors",
    ),
)

# Text that users and developers read. Recorded vectors and pinned versions are data.
SUFFIXES = {".go", ".json", ".md", ".py", ".toml", ".tpl", ".txt", ".yaml", ".yml"}
NAMES = {"Dockerfile", "Makefile"}
DATA = re.compile(r"vectors|recorded|constraints|testbed/modules/")


def words_of(text: str) -> str:
    """The text in lower case, with names and comments split into words and line breaks kept."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[_#*]", " ", split).lower()


def pattern_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b".replace("there )", r"there\s)").replace(" ", r"\s+"))


PATTERNS = [(pattern_of(words), instead) for words, instead in WORDS.items()]
# One search for all of them takes a tenth of the time, and most files have none.
ANY = pattern_of("|".join(WORDS))
ALLOWED_PATTERNS = [(re.compile(path), pattern_of(words)) for path, words, _ in ALLOWED]


def findings(path: str, text: str) -> list[str]:
    """`file:line: word: what to write instead`, for each word to avoid."""
    words = words_of(text)
    if not ANY.search(words):
        return []
    for where, allowed in ALLOWED_PATTERNS:
        if where.search(path):
            words = allowed.sub(lambda found: re.sub(r"\S", ".", found[0]), words)
    return [
        f"{path}:{words.count(chr(10), 0, found.start()) + 1}: {' '.join(found[0].split())!r}: write {instead}"
        for pattern, instead in PATTERNS
        for found in pattern.finditer(words)
    ]


def texts() -> list[str]:
    """Every file with text that is or is about to be in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    return [
        name
        for name in listed.stdout.decode().split("\0")
        if name != THIS_FILE
        and (Path(name).suffix in SUFFIXES or Path(name).name in NAMES)
        and not DATA.search(name)
        and (ROOT / name).is_file()
    ]


def test_every_text_uses_the_words_of_kubernetes_and_prometheus():
    found = [
        finding
        for name in texts()
        for text in (name, (ROOT / name).read_text("utf-8"))
        for finding in findings(name, text)
    ]
    assert "\n".join(found) == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("read\n\nit anew", 3, id="a word"),
        pytest.param("def reload_anew():", 1, id="a part of a name"),
        pytest.param("class SharedQuestions:", 1, id="a part of a class name"),
        pytest.param("# values are held\n    # against the series", 1, id="across two lines of a comment"),
        pytest.param("the value is no number", 1, id="an inverted negation"),
    ],
)  # fmt: skip
def test_a_word_to_avoid_is_reported_with_its_line(text, line):
    (finding,) = findings("docs/page.md", text)
    assert finding.startswith(f"docs/page.md:{line}: ")
    assert ": write " in finding


@pytest.mark.parametrize(
    "text",
    [
        "look up the series", "it looks like this", "there is no such pod", "where there\nis no pod", "is no longer",
        "the NetworkPolicy peers that may connect", "the peer certificate", "a bookmark", "forever", "heartbeat",
    ],
)  # fmt: skip
def test_ordinary_english_is_not_reported(text):
    assert findings("docs/page.md", text) == []

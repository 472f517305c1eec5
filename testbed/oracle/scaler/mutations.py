"""`python -m testbed.oracle.scaler.mutations`: break the core on purpose, and see which test fails.

Each mutation is one replacement in a copy of the sources; the unit tests of the core run against it, then,
and if those pass, the vectors. A mutation that no test notices is a missing test. Without any, all of them must pass, or
a test that cannot be imported would notice each.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from testbed.mutants.workspace import BESIDE_SOURCES, SOURCES

_ROOT = Path(__file__).parents[3]
_UNIT = [
    f"tests/unit/scaler/{each}"
    for each in (
        "algorithm",
        "api",
        "extensions",
        "control",
    )
]
_VECTORS = ["tests/conformance/scaler"]


class Mutation(msgspec.Struct, frozen=True):
    """`old` occurs in `path` and becomes `new`."""

    path: str
    old: str
    new: str


MUTATIONS = (
    Mutation("algorithm/ratio.py", "quotient(int64(used * 100), requested)", "int64(used * 100) / requested"),
    Mutation("algorithm/ratio.py", "if name in requests]", "]"),
    Mutation("algorithm/ratio.py", "quotient(int64(sum(samples.values())), len(samples))", "int64(sum(samples.values())) // len(samples)"),
    Mutation("algorithm/pod_groups.py", 'pod.status.phase == "Failed"', 'pod.status.phase == "Succeeded"'),
    Mutation("algorithm/pod_groups.py", "pod.metadata.deletion_timestamp is not None or ", ""),
    Mutation("algorithm/pod_groups.py", "resource == CPU and ", ""),
    Mutation("algorithm/pod_groups.py", "not moment.reached(started", "not moment.passed(started"),
    Mutation("algorithm/pod_groups.py", "turned + sample.window_seconds", "turned"),
    Mutation("algorithm/replicas.py", "*groups.succeeded, *groups.unready}", "*groups.succeeded}"),
    Mutation("algorithm/replicas.py", "bool(groups.unready) and usage.ratio > 1.0", "bool(groups.unready)"),
    Mutation("algorithm/replicas.py", "_resized(usage.ratio, len(groups.ready))", "_resized(usage.ratio, current)"),
    Mutation("algorithm/replicas.py", "float_to_int32(ceil(ratio * float(pods)))", "float_to_int32(ratio * float(pods))"),
    Mutation("algorithm/replicas.py", "(first < 1.0 < second) or ", ""),
    Mutation("algorithm/replicas.py", "(second < 1.0 and replicas > current) or ", ""),
    Mutation("algorithm/replicas.py", "INT32_MAX if replicas > INT32_MAX else ", ""),
    Mutation("algorithm/replicas.py", "        if total < 0:\n", "        if total < INT64_MAX and False:\n"),
    Mutation("algorithm/from_pods.py", "max(100, target_percent)", "target_percent"),
    Mutation("algorithm/from_object.py", "status_replicas=workload.status_replicas,\n            tolerances=workload.policy.tolerances,\n        )\n        current = MetricValueStatus(average_value=format_milli(proposed.reported_milli))\n        name", "status_replicas=workload.spec_replicas,\n            tolerances=workload.policy.tolerances,\n        )\n        current = MetricValueStatus(average_value=format_milli(proposed.reported_milli))\n        name"),
    Mutation("algorithm/pod_requests.py", "            together = _plus(together, container.resources.requests, resource)\n            sidecars", "            sidecars"),
    Mutation("algorithm/combine.py", "replicas == 0 or proposed > replicas", "proposed > replicas"),
    Mutation("algorithm/combine.py", "or replicas < spec_replicas", ""),
    Mutation("algorithm/branch.py", "current > policy.max_replicas", "current >= policy.max_replicas"),
    Mutation("algorithm/effective_policy.py", "scale_down=_tolerance(behavior.scale_down", "scale_down=_tolerance(behavior.scale_up"),
    Mutation("algorithm/stabilization.py", "not moment.passed(each", "not moment.reached(each"),
    Mutation("algorithm/stabilization.py", "until_unix_seconds + up.window_seconds", "until_unix_seconds + down.window_seconds"),
    Mutation("algorithm/stabilization.py", "max(up.window_seconds, down.window_seconds)", "min(up.window_seconds, down.window_seconds)"),
    Mutation("algorithm/stabilization.py", "min(max(current, at_least), at_most)", "recommended"),
    Mutation("algorithm/scaling_policies.py", " + downs.within(period, moment)", ""),
    Mutation("algorithm/scaling_policies.py", "float_to_int32(ceil(float(start) * (1 + float(policy.value) / 100)))", "float_to_int32(float(start) * (1 + float(policy.value) / 100))"),
    Mutation("algorithm/scaling_policies.py", "limit=max(limit, current, at_least)", "limit=max(limit, at_least)"),
    Mutation("algorithm/bounds.py", "_SCALE_UP_LIMIT_FACTOR = 2.0", "_SCALE_UP_LIMIT_FACTOR = 8.0"),
    Mutation("algorithm/bounds.py", "max_replicas > rate.limit", "max_replicas >= rate.limit"),
    Mutation("algorithm/recommendations.py", "each.outdated or each.happened_at_unix_seconds < cutoff", "False"),
    Mutation("algorithm/recommendations.py", "or step.replicas < lowest", ""),
    Mutation("algorithm/recommendations.py", "step.replicas > highest or ", ""),
    Mutation("algorithm/recommendations.py", "if each.until_unix_seconds >= before", "if each.since_unix_seconds >= before"),
    Mutation("algorithm/recommendations.py", "not policy.kind.holds_while_failing or ", ""),
    Mutation("algorithm/restart.py", "max(stored_at, now_unix_seconds - policy.sync_period_seconds)", "stored_at"),
    Mutation("algorithm/restart.py", "is_incomplete = is_old or ", "is_incomplete = "),
    Mutation("algorithm/times.py", "min(at, now_unix_seconds)", "at"),
    Mutation("algorithm/guard.py", "draft.memory = msgspec.structs.replace(draft.memory, scaled_to_zero=True)", "pass"),
    Mutation("algorithm/signal.py", "if index < measured else _NOT_MEASURED", "if index < measured else readings[0]"),
    Mutation("algorithm/guard.py", "rescale = desired != current and ", "rescale = "),
    Mutation("algorithm/guard.py", "        and turn.was_scaled_to_zero\n", ""),
    Mutation("algorithm/decide.py", "draft.proposed or 0, draft.turn", "draft.replicas, draft.turn"),
    Mutation("algorithm/settle.py", "        and desired == 0\n", ""),
    Mutation("algorithm/settle.py", "current_replicas=decision.current_replicas,\n", "current_replicas=decision.desired_replicas or 0,\n"),
    Mutation("algorithm/conditions.py", "found[0].last_transition_time if same else self._now", "self._now"),
)  # fmt: skip


def main() -> int:
    """Returns the exit code: 1 when no test noticed some mutation."""
    unnoticed = 0
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        _copy_to(copy)
        if (failed := _first_failure(copy, [*_UNIT, *_VECTORS])) is not None:
            raise ValueError(f"{failed} fails without any mutation")
        for mutation in MUTATIONS:
            path = copy / "scaler" / mutation.path
            original = path.read_text()
            if mutation.old not in original:
                raise ValueError(f"{mutation.path} no longer has {mutation.old!r}: fix MUTATIONS")
            path.write_text(original.replace(mutation.old, mutation.new))
            noticed = _first_failure(copy, _UNIT) or _first_failure(copy, _VECTORS)
            path.write_text(original)
            unnoticed += noticed is None
            change = f"{mutation.path}: `{mutation.old.strip()}` -> `{mutation.new.strip()}`"
            print(f"{noticed or 'NO TEST':90} {change}", flush=True)
    print(f"{len(MUTATIONS)} mutations, {unnoticed} unnoticed")
    return 1 if unnoticed else 0


def _copy_to(copy: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", ".hypothesis")
    for name in (*SOURCES, *BESIDE_SOURCES):
        if (_ROOT / name).is_dir():
            shutil.copytree(_ROOT / name, copy / name, ignore=ignore)
        else:
            shutil.copyfile(_ROOT / name, copy / name)
    shutil.copyfile(_ROOT / "pyproject.toml", copy / "pyproject.toml")


def _first_failure(copy: Path, tests: list[str]) -> str | None:
    """The test that failed first; the mutated copy comes before the installed sources."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+?)(?:\[| |$)", done.stdout, flags=re.MULTILINE)
    return found[1].removeprefix("tests/") if found else f"(exit {done.returncode})"


if __name__ == "__main__":
    sys.exit(main())

"""What is mutated, and which tests must find it."""

from typing import Final

import msgspec


class MutatedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """`sources` and tests are paths below the repository; `sample` is how many mutants run by default.

    `tests` run first. `further` ones, which take longer, run against what survives.
    """

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    further: tuple[str, ...]
    sample: int = 40


MUTATED: Final = (
    MutatedPackage(
        name="actuation",
        sample=60,
        sources=(
            "scaler/cluster/rescale.py",
            "scaler/cluster/scales.py",
            "scaler/cluster/target_scale.py",
        ),
        tests=(
            "tests/unit/scaler/cluster/test_rescale.py",
            "tests/unit/scaler/cluster/test_target_scale.py",
        ),
        further=("tests/unit/scaler/control", "tests/unit/scaler/runtime"),
    ),
    MutatedPackage(
        name="shards",
        sample=50,
        sources=("scaler/cluster/shards/*.py",),
        tests=(
            "tests/unit/scaler/cluster/shards",
            "tests/unit/scaler/cluster/test_leases.py",
            "tests/unit/scaler/cluster/test_shared_leases.py",
        ),
        further=("tests/conformance/scaler_protocol",),
    ),
    MutatedPackage(
        name="memory",
        sources=(
            "scaler/cluster/memories/*.py",
            "scaler/cluster/status.py",
            "scaler/control/memories.py",
        ),
        tests=(
            "tests/unit/scaler/cluster/memories",
            "tests/unit/scaler/cluster/test_status.py",
        ),
        further=("tests/unit/scaler/control", "tests/conformance/scaler_protocol"),
    ),
    MutatedPackage(
        name="proof",
        sources=("adapter/wide/*.py", "adapter/answer/query_plan.py"),
        tests=("tests/unit/adapter/wide",),
        further=("tests/unit/adapter/answer", "tests/conformance/adapter"),
    ),
    MutatedPackage(
        name="authorization",
        sources=(
            "wire/serving/access_guard.py",
            "wire/serving/attributes.py",
            "wire/serving/authentication.py",
            "wire/serving/authorization.py",
            "wire/serving/impersonation.py",
            "wire/serving/request_path.py",
            "wire/serving/review_cache.py",
            "wire/serving/review_queue.py",
            "wire/serving/reviews.py",
            "wire/serving/trust.py",
        ),
        tests=("tests/unit/wire/serving",),
        further=("tests/unit/adapter/serve",),
    ),
    MutatedPackage(
        name="algorithm",
        sample=120,
        sources=("scaler/algorithm/*.py",),
        tests=("tests/unit/scaler/algorithm",),
        further=(
            "tests/unit/scaler/control",
            "tests/unit/scaler/extensions",
            "tests/conformance/scaler",
        ),
    ),
)

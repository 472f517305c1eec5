"""What is mutated, and which tests must find it."""

from typing import Final

import msgspec

# Without those that compare whole days, and take as long as all others.
_CONTROL: Final = (
    "tests/unit/scaler/control",
    "--deselect=tests/unit/scaler/control/test_repeated_decisions.py",
)
_VECTORS: Final = "tests/conformance/scaler/test_vectors.py"


class MutatedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """`sources` and tests are paths below the repository; `sample` is how many mutants run by default.

    `tests` run first. `further` ones, which take longer, run against what survives. Both may contain options of pytest.
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
            "tests/unit/scaler/runtime/test_initial_lists.py",
        ),
        further=_CONTROL,
    ),
    MutatedPackage(
        name="shards",
        sample=50,
        sources=("scaler/cluster/shards/*.py",),
        tests=(
            "tests/unit/scaler/cluster/shards",
            "tests/unit/scaler/cluster/test_leases.py",
            "tests/unit/scaler/cluster/test_shared_leases.py",
            "tests/unit/scaler/runtime/test_held_shards.py",
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
        further=(*_CONTROL, "tests/conformance/scaler_protocol"),
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
            "tests/unit/scaler/extensions/candidate",
            "tests/unit/scaler/extensions/test_actual_requests.py",
            "tests/unit/scaler/extensions/test_after_zero.py",
            "tests/unit/scaler/extensions/test_extension_memory.py",
            "tests/unit/scaler/extensions/test_one_more_extension.py",
            "tests/unit/scaler/extensions/test_unknown_activity.py",
            *_CONTROL,
            f"{_VECTORS}::test_the_core_answers_upstreams_own_cases_as_the_newest_controller_did",
            f"{_VECTORS}::test_the_core_answers_as_the_controller_of_that_version_did",
        ),
    ),
)

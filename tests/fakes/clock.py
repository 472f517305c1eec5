"""A clock that only the test moves."""


class FakeClock:
    """In place of `time.monotonic`, from 0 seconds on."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

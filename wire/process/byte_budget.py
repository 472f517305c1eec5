"""What several responses or streams may take in memory together."""


class ByteBudget:
    """Bytes that are taken and given back."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.taken = 0

    def take(self, size_bytes: int) -> bool:
        """False if there is not enough left: then nothing is taken."""
        if self.taken + size_bytes > self.bytes_max:
            return False
        self.taken += size_bytes
        return True

    def give(self, size_bytes: int) -> None:
        """The opposite of `take`."""
        self.taken -= size_bytes

"""What the real Go code answers, recorded as vectors for the conformance tests."""

"""Two programs on one testbed, asked the same questions: what differs between theirs and ours, and whether we meant it."""

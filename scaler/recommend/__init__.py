"""Pure: what each metric proposes, and which of them wins (upstream's `replica_calculator.go`)."""

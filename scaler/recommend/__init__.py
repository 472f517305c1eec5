"""Pure: what each metric asks for, and which of them wins (upstream's `replica_calculator.go`)."""

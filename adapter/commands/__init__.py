"""What `loadline-adapter` can be told to do: `serve` when nothing is said, and commands for people."""

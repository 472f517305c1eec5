"""The subcommands: `run`, the default, scales; `why` explains."""

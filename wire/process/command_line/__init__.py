"""Command lines of both programs: how flags are written and described, commands, shell completion."""

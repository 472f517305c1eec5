"""Pure: a second policy that decides beside the spec, and takes over step by step unless a metric says that it does harm."""

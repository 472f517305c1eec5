"""The protocol by which replicas share the shards, as a model that TLC checks exhaustively."""

"""The stream of changed metrics: what is watched is evaluated in rounds, and clients get the responses that have changed."""

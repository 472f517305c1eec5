"""Pure: a derivation as an answer that a colleague would give."""

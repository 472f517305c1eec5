"""PURE  What both programs are put through: by hand for what is known to be a trap, by seed for what is not."""

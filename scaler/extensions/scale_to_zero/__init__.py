"""`spec.scaleToZero` and `activationValue`: when a target goes to zero and leaves it."""

"""Pure: a recommendation within what history, rates and bounds allow (upstream's `normalizeDesiredReplicas*`)."""

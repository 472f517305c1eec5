"""Pure: arithmetic over named metrics, for metrics of type Formula."""

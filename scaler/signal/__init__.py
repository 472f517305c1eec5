"""Pure: answers of the metrics APIs become usable values, one per metric of the spec."""

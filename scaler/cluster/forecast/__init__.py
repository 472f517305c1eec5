"""The recorded load from which a new forecast learns."""

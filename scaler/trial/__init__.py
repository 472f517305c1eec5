"""Pure: the last word on what is written: never by outdated objects, not while suspended, not in a dry run."""

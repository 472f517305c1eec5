"""HTTP: what a path asks for, and the documents of responses and refusals. Pure."""

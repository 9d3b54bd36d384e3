"""Parameters that no optimizer has, one way to leave them out a file: parts of `untrained-parameter`."""

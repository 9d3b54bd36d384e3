"""Terms of a loss that teach nothing, one cause a file: the parts of the rules about terms that are cut off."""

"""Names across files: which file a module's name means, and what that file holds."""

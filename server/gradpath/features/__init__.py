"""Editor features beside diagnostics: pure functions over an `Analysis`, without protocol types."""

"""What editors show beside diagnostics: pure functions over an `Analysis`, without protocol types."""

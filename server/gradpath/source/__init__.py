"""From bytes and half-typed text to syntax trees whose positions match the text exactly."""

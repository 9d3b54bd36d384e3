"""The language server: the only part of gradpath that knows the protocol."""

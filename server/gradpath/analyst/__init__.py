"""The analysis in a process of its own, which a language server can give up: `supervisor` there, `program` here."""

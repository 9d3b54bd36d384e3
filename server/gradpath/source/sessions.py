"""What was entered in an interactive session, from the text of the session: `>>> x = 1`, or `In [1]: x = 1`."""

from __future__ import annotations

from gradpath.support.lazy_regex import regex

_BEGUN = regex(r"\A(?:[ \t]*(?:#.*)?\n)*[ \t]*(?:>>>|In \[\d+\]:) ")
_LINE = regex(r"(?m)^([ \t]*(?:>>>|In \[\d+\]:|\.{3,}:?)(?: |$))?(.*)$")


def entered(text: str) -> str:
    """The text with blanks for the prompts and comments for what was printed, so that nothing moves.

    A text that does not begin with a prompt stays as it is: a file of code may show a session in a docstring.
    """
    if _BEGUN.search(text) is None:
        return text
    lines = (_LINE.match(line) for line in text.split("\n"))
    return "\n".join(_without_prompt(*line.groups()) for line in lines if line is not None)


def _without_prompt(prompt: str | None, rest: str) -> str:
    if prompt is not None:
        return " " * len(prompt) + rest
    return f"#{rest[1:]}" if rest.strip() else rest

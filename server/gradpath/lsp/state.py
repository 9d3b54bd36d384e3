"""The state of a session: only the session replaces it, and the parts of the server read it."""

from __future__ import annotations

from gradpath.lsp.client import Client
from gradpath.lsp.documents import Documents
from gradpath.lsp.settings import EditorSettings
from gradpath.support.fast_dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class State:
    """The client's capabilities, its user's settings, and the open documents."""

    client: Client = field(default_factory=Client)
    settings: EditorSettings = field(default_factory=EditorSettings)
    documents: Documents = field(default_factory=Documents)

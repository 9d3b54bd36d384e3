"""The capabilities of the connected client, read once."""

from __future__ import annotations

from lsprotocol import types
from pygls.capabilities import get_capability

from gradpath.lsp.convert import Encoding
from gradpath.lsp.settings import Settings
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """The abilities of a client that change what the server sends; the default is a client without any."""

    encoding: Encoding = Encoding.UTF16
    related_information: bool = False
    unnecessary_tag: bool = False
    document_changes: bool = False
    markdown: bool = False
    resolves_edits: bool = False
    """The client asks for the edits of a code action when it is chosen, and sends back its `data` then."""
    pulls_diagnostics: bool = False
    """The client asks for diagnostics and does not take pushed ones."""
    related_documents: bool = False
    """An answer to a request for diagnostics may contain other files as well."""
    refreshes_diagnostics: bool = False
    """The client requests diagnostics again when it is asked to."""
    pulls_settings: bool = False
    shows_progress: bool = False
    """The client takes progress that the server begins."""
    refreshes_hints: bool = False
    """The client requests inlay hints again when it is asked to."""
    refreshes_lenses: bool = False
    """The client requests code lenses again when it is asked to."""
    watches_settings: bool = False
    """The client accepts the registration of `workspace/didChangeConfiguration`."""
    watches_files: bool = False
    """The client accepts the registration of `workspace/didChangeWatchedFiles`."""
    shows_documents: bool = False
    wants_diagnostics_in_hover: bool = True
    """A hover contains faults as well, unless the client shows their diagnostics beside it anyway."""
    site: str = ""
    """The address of a site with the documentation, to which rules are linked then; no slash ends it."""


def client_of(capabilities: types.ClientCapabilities, settings: Settings) -> Client:
    """Read the capabilities of an `initialize` request; what is not declared is not used.

    No capability says that a client shows diagnostics where the pointer rests: it says so itself, by the initial
    setting `diagnosticsInHover`, which is on by default. Another, `documentation`, is the address of a site.
    """
    pushed = get_capability(capabilities, "text_document.publish_diagnostics")
    pulled = get_capability(capabilities, "text_document.diagnostic")
    shown = pushed or pulled
    tags = shown.tag_support if shown is not None else None
    site = settings.get("documentation")
    hover_formats = get_capability(capabilities, "text_document.hover.content_format", ())
    return Client(
        encoding=_encoding(capabilities),
        related_information=shown is not None and bool(shown.related_information),
        unnecessary_tag=tags is not None and types.DiagnosticTag.Unnecessary in tags.value_set,
        document_changes=bool(get_capability(capabilities, "workspace.workspace_edit.document_changes", False)),
        markdown=types.MarkupKind.Markdown in hover_formats,
        resolves_edits=_resolves_edits(capabilities),
        pulls_diagnostics=pushed is None and pulled is not None,
        related_documents=pulled is not None and bool(pulled.related_document_support),
        refreshes_diagnostics=bool(get_capability(capabilities, "workspace.diagnostics.refresh_support", False)),
        shows_progress=bool(get_capability(capabilities, "window.work_done_progress", False)),
        refreshes_hints=bool(get_capability(capabilities, "workspace.inlay_hint.refresh_support", False)),
        refreshes_lenses=bool(get_capability(capabilities, "workspace.code_lens.refresh_support", False)),
        pulls_settings=bool(get_capability(capabilities, "workspace.configuration", False)),
        watches_settings=bool(
            get_capability(capabilities, "workspace.did_change_configuration.dynamic_registration", False)
        ),
        watches_files=bool(
            get_capability(capabilities, "workspace.did_change_watched_files.dynamic_registration", False)
        ),
        shows_documents=bool(get_capability(capabilities, "window.show_document.support", False)),
        wants_diagnostics_in_hover=settings.get("diagnosticsInHover") is not False,
        site=site.rstrip("/") if isinstance(site, str) and site.startswith(("https://", "http://")) else "",
    )


def _encoding(capabilities: types.ClientCapabilities) -> Encoding:
    """The first of the client's encodings that gradpath knows: all of them, so in practice its favourite."""
    for name in get_capability(capabilities, "general.position_encodings", ()):
        try:
            return Encoding(name)
        except ValueError:
            continue
    return Encoding.UTF16


def _resolves_edits(capabilities: types.ClientCapabilities) -> bool:
    action = get_capability(capabilities, "text_document.code_action")
    support = action.resolve_support if action is not None else None
    return action is not None and support is not None and "edit" in support.properties and bool(action.data_support)

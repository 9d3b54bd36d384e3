"""Code actions: what an editor offers to do about a fault, with edits that are known to help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from lsprotocol import types

from gradpath.analyst.messages import AskActions
from gradpath.diagnostic import ActionKind
from gradpath.lsp.documents import OpenDocument
from gradpath.lsp.outgoing import Outgoing
from gradpath.lsp.stories import name_in

if TYPE_CHECKING:
    from gradpath.lsp.session import Server


def register_actions(server: Server, kinds: tuple[str, ...], notebook: str) -> None:
    """Register code actions of these kinds; `notebook` is the prefix of a kind for all cells of a notebook."""
    options = types.CodeActionOptions(code_action_kinds=list(kinds), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        # What the client echoes in `context.diagnostics` is not looked at: some clients drop `source` and `data`.
        rewrites = _asks(params, ActionKind.REWRITE.value)
        found = await offered(server, params.text_document.uri, params.range, rewrites=rewrites)
        told = await _question(server, params)
        if found is None:
            return told
        document, actions = found
        fixes = []
        for kind, made in actions:
            # In a notebook the action for everything has two names: it fixes all cells, this one among them.
            names = [kind] if document.cells is None else [kind, notebook + kind]
            name = next((name for name in names if _is_wanted(name, params.context.only)), None)
            if name is None:
                continue
            made.kind = name
            if server.state.client.resolves_edits and made.edit is not None:
                key, made.edit = _key(made.edit), None
                made.data = {
                    "key": key,
                    "uri": params.text_document.uri,
                    "state": server.state.documents.found_at(document.path)[1],
                    "range": server.protocol._converter.unstructure(params.range),
                    "rewrites": rewrites,
                }
            fixes.append(made)
        return [*fixes, *told]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(params: types.CodeAction) -> types.CodeAction:
        data = params.data
        if params.edit is not None or not isinstance(data, dict):
            return params
        uri, place = str(data.get("uri")), server.protocol._converter.structure(data.get("range"), types.Range)
        found = await offered(server, uri, place, rewrites=bool(data.get("rewrites")))
        if found is None or server.state.documents.found_at(found[0].path)[1] != data.get("state"):
            return params  # The document has changed: the client asks for actions again.
        for kind, made in found[1]:
            if made.edit is not None and _key(made.edit) == data.get("key") and str(params.kind).endswith(kind):
                params.edit = made.edit
                break
        return params


def _key(edit: types.WorkspaceEdit) -> int:
    """The key of an action's edit among the others at a place."""
    return crc32(repr(edit).encode(errors="surrogatepass"))


async def offered(
    server: Server, uri: str, range: types.Range, *, rewrites: bool = False
) -> tuple[OpenDocument, list[tuple[str, types.CodeAction]]] | None:
    """The actions at a place, each with its kind in a document of any sort; None where nothing is known of it.

    Those that give the loops around it another form are there if `rewrites` are wanted: they take several checks.
    """

    def prepare(document: OpenDocument) -> AskActions | None:
        place = document.place_in(uri, range, server.state.client.encoding)
        diagnostics, state = server.state.documents.found_at(document.path)
        if place is None or not (diagnostics or rewrites):
            return None
        return AskActions(document.uri, document.path, place, tuple(diagnostics), state, rewrites)

    document = await server.state.documents.analysed(uri)
    if document is None:
        return None
    # What the client shows in a file may have been found by the check of another one, which is due again.
    for other in server.state.documents.dependents(document.path):
        await server.state.documents.analysed(other.uri)
    found = await server.asking.find(uri, f"actions at {uri}:{range} {rewrites}", prepare)
    if found is None:
        return None
    document, told = found
    outgoing = Outgoing(document, server.state.documents, server.state.client, told.lines)
    pairs = [(action.kind.value, outgoing.action(action)) for action in told.actions]
    return document, [(kind, made) for kind, made in pairs if made is not None]


async def _question(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The action that explains what trains the name at the cursor, if a person asks for actions."""
    if not _asks(params, _QUESTION):
        return []
    uri, position = params.text_document.uri, params.range.start
    name = await name_in(server, uri, position)
    if not name:
        return []
    title = f"gradpath: What trains `{name}`?"
    command = types.Command(title, "gradpath.why", arguments=[uri, position.line, position.character])
    return [types.CodeAction(title, kind=_QUESTION, command=command)]


def _asks(params: types.CodeActionParams, kind: str) -> bool:
    """True if a person asks for actions of a kind: for its light bulb an editor does at every move of the cursor."""
    automatic = params.context.trigger_kind is types.CodeActionTriggerKind.Automatic
    return not automatic and _is_wanted(kind, params.context.only)


_QUESTION = ""
"""The kind of an action that changes nothing: it is none of those that editors carry out by themselves."""


def _is_wanted(kind: str, only: Any) -> bool:
    """True if a kind is one of those that the client asks for, or below one of them."""
    if only is None:
        return True
    names = [name.value if isinstance(name, types.CodeActionKind) else name for name in only]
    return any(name == "" or kind == name or kind.startswith(f"{name}.") for name in names)

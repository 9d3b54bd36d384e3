"""pygls' protocol with a text store of our own and an answer to every message, however malformed."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any
from typing import Protocol as Interface

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import MsgId, RPCMessage

logger = logging.getLogger(__name__)


class Session(Interface):
    """The receiver of the messages."""

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """The client has opened a document."""

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """The client has changed a document."""

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """The client has closed a document."""

    def did_open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """The client has opened a notebook."""

    def did_change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """The client has changed a notebook."""

    def did_close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """The client has closed a notebook."""

    def did_shutdown(self) -> None:
        """The client wants all work to stop."""

    def finish(self, status: int) -> None:
        """The client wants the process to end."""


class Protocol(LanguageServerProtocol):
    """Differs from pygls in what it does with documents, with errors, and at the end."""

    session: Session

    @property
    def is_shut_down(self) -> bool:
        """True if the client has asked for the shutdown."""
        return self._shutdown

    def receive(self, body: bytes) -> None:
        """Handle one message as it came from the client; never raises, whatever it holds."""
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            logger.warning("Ignored a message that is not JSON")
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            logger.warning("Ignored a message that is not JSON-RPC %s", self.VERSION)
            return
        if data.get("method") == types.INITIALIZED:
            data.setdefault("params", {})  # Some clients leave them out, which lsprotocol refuses.
        if "method" in data and not self._is_known(data["method"]):
            self._refuse(data, JsonRpcMethodNotFound.of(str(data["method"])))
            return
        try:
            self.handle_message(self.structure_message(data))
        except JsonRpcException as error:
            self._refuse(data, error)
        except Exception as error:
            logger.exception("Failed to handle a message")
            self._refuse(data, JsonRpcInternalError(str(error)))

    def handle_message(self, message: RPCMessage) -> None:
        """Handle a message; a request outside of the session's life gets an error instead of silence."""
        method = getattr(message, "method", None)
        if method is not None and method != types.EXIT:
            if self._shutdown:
                raise JsonRpcInvalidRequest("The server is shutting down")
            if self._workspace is None and method != types.INITIALIZE:
                raise JsonRpcServerNotInitialized("The server has not been initialized")
            if self._workspace is not None and method == types.INITIALIZE:
                raise JsonRpcInvalidRequest("The server has been initialized already")
        super().handle_message(message)

    def _send_handler_result(self, future: Future[Any], *, msg_id: MsgId) -> None:
        """Answer a request; that its parameters make no sense is the client's mistake, and no failure to be logged."""
        error = None if future.cancelled() else future.exception()
        if isinstance(error, JsonRpcInvalidParams):
            self._request_futures.pop(msg_id, None)
            self._send_response(msg_id, error=error.to_response_error())
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def _is_known(self, method: object) -> bool:
        known = (self.fm.builtin_features, self.fm.features, (types.CANCEL_REQUEST,))
        return isinstance(method, str) and any(method in names for names in known)

    def _refuse(self, data: dict[str, Any], error: JsonRpcException) -> None:
        if "method" not in data:
            logger.warning("Ignored a response that cannot be read")
        elif isinstance(data.get("id"), (int, str)):
            self._send_response(data["id"], error=error.to_response_error())
        elif isinstance(error, JsonRpcInvalidParams):
            logger.warning("Ignored %s, whose parameters cannot be read", data["method"])

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take up a document."""
        self.session.did_open(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Change a document."""
        self.session.did_change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document."""
        self.session.did_close(params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take up a notebook."""
        self.session.did_open_notebook(params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Change a notebook."""
        self.session.did_change_notebook(params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """Forget a notebook."""
        self.session.did_close_notebook(params)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Generator[Any, Any, Any]:
        """Carry out a command; arguments that were left out are too few, not as many as may be."""
        params.arguments = params.arguments or []
        return (yield from super().lsp_workspace__execute_command(params))

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *_: object) -> None:  # type: ignore[override]  # A generator is pygls' own way, not a duty.
        """Stop all work; what is still asked is answered as cancelled."""
        self.session.did_shutdown()
        for future in list(self._request_futures.values()):
            future.cancel()
        self._shutdown = True

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: object) -> None:  # type: ignore[override]  # As above.
        """End the process: with status 1 where the client did not ask for a shutdown first."""
        self.session.finish(0 if self._shutdown else 1)

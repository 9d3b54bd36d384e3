"""A picture as JSON: what other programs draw from."""

from __future__ import annotations

import json

from gradpath.features.graph import Picture


def as_json(picture: Picture) -> str:
    """One object: `title`, `nodes` and `edges` by the nodes' ids; lines count from 1, and 0 is no line."""
    nodes = [
        {
            "id": vertex.number,
            "kind": vertex.kind.value,
            "title": vertex.title,
            "operation": vertex.operation or None,
            "module": vertex.owner or None,
            "path": vertex.path or None,
            "line": vertex.line or None,
            "earlier_iteration": vertex.earlier,
            "saved": list(vertex.saved),
            "notes": list(vertex.notes),
            "broken": vertex.broken,
        }
        for vertex in picture.vertices
    ]
    edges = [{"from": arrow.start, "to": arrow.end, "cut": arrow.cut} for arrow in picture.arrows]
    return json.dumps({"version": 1, "title": picture.title, "nodes": nodes, "edges": edges}, indent=1) + "\n"

"""opacus: `ModuleValidator.fix` hands back a copy in which layers are replaced; an engine hands back what it gets."""

from __future__ import annotations

from gradpath.overlays.libraries.standard_library import deep_copy
from gradpath.overlays.namespace import Names

NAMES: Names = {
    f"opacus.validators.{module}ModuleValidator.fix": lambda machine, arguments: deep_copy(
        machine, arguments.get(0, "module", None)
    )
    for module in ("", "module_validator.")
}

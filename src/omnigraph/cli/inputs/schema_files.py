"""Schema files: read and compiled as `init` will see them, with the compiler's warnings on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.inputs.files import read_text

if TYPE_CHECKING:
    from omnigraph.cli.session import Session
    from omnigraph.language.schema import CompiledSchema


def compile_file(session: Session, path: str) -> CompiledSchema:
    """The schema in a file; a text that does not compile is an error that shows the place."""
    from omnigraph.graph import compile_schema_text

    compiled = compile_schema_text(read_text(path), path)
    session.warn_about(compiled.warnings)
    return compiled

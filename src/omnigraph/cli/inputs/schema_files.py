"""Schema files: read and compiled as `init` will see them, with the compiler's warnings on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.inputs.files import read_text

if TYPE_CHECKING:
    from omnigraph.cli.session import Session
    from omnigraph.language.schema import CompiledSchema


def compile_file(session: Session, path: str) -> CompiledSchema:
    """The schema in a file; a text that does not compile is refused with its place."""
    from omnigraph.language.schema import compile_schema

    compiled = compile_schema(read_text(path), file=path, check_pattern=_check_pattern)
    session.warn_about(compiled.warnings)
    return compiled


def _check_pattern(pattern: str) -> str | None:
    """The one pattern checker, imported only for a schema that has a pattern."""
    from omnigraph.write.rules import check_pattern

    return check_pattern(pattern)

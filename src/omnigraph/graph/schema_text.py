"""Schema texts: read from a file or taken as they are, and compiled with every check, also without a graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.language.schema import compile_schema
from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.language.schema import CompiledSchema


def read_schema(schema: str | os.PathLike[str]) -> tuple[str, str | None]:
    """A schema argument as (text, file): a path, or text that ends in `.pg`, is read; any other text is the schema."""
    if isinstance(schema, str) and ("\n" in schema or not schema.strip().endswith(".pg")):
        return schema, None
    if not isinstance(schema, str | os.PathLike):
        raise BadRequest(
            f"the schema must be text or a path, not {type(schema).__name__}", "pass the text of a .pg schema"
        )
    try:
        return Path(schema).read_text(encoding="utf-8"), os.fspath(schema)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"cannot read schema file '{schema}': {error}") from error


def compile_schema_text(text: str, file: str | None = None) -> CompiledSchema:
    """The compiled schema, or CompileError. Patterns are checked by the engine that will match them."""
    return compile_schema(text, file=file, check_pattern=_check_pattern)


def _check_pattern(pattern: str) -> str | None:
    """Imported only for a schema that has a pattern."""
    from omnigraph.write.rules import check_pattern

    return check_pattern(pattern)

"""Files named on the command line: read and replaced with errors that name them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from omnigraph.cli.refusals import UnreadableFile, UnwritableFile


def read_text(path: str) -> str:
    """The file as UTF-8 text, line ends as they are."""
    try:
        return Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise UnreadableFile(path, (error.strerror or str(error)).lower()) from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, f"byte {error.start} is not UTF-8") from error


def replace_text(path: str, text: str) -> None:
    """Write the file so that a reader sees the old text or the new one, never a part; its mode stays."""
    target = Path(path).resolve()
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode("utf-8"))
            os.chmod(temporary, target.stat().st_mode & 0o7777)
            os.replace(temporary, target)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UnwritableFile(path, (error.strerror or str(error)).lower()) from error

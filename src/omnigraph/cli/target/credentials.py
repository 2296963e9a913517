"""Credentials: the tokens of servers, in a file that only its owner may read, and which token goes to which address.

A token belongs to a server by its name, and a request to an address gets it only if the address is that server's.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from omnigraph.cli.refusals import InvalidCredentials
from omnigraph.cli.target.operator_config import operator_home

BEARER = "OMNIGRAPH_BEARER_TOKEN"
OTHERS = 0o077
_SECTION = re.compile(r"\s*\[(?P<name>[^\]]*)\]\s*")


def token_for(url: str, servers: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
    """The token of a request to this address: that of its server, else the one for all; None if there is none."""
    name = server_of(url, servers)
    if name is not None:
        own = environ.get(variable_of(name), "").strip() or read_token(name, environ)
        if own:
            return own
    return environ.get(BEARER, "").strip() or None


def server_of(url: str, servers: Mapping[str, str]) -> str | None:
    """The declared server that an address belongs to: its own address, or one below it. The longest wins."""
    wanted, found = url.rstrip("/"), ""
    for name, declared in servers.items():
        base = declared.rstrip("/")
        longest = servers[found].rstrip("/") if found else ""
        if base and (wanted == base or wanted.startswith(f"{base}/")) and len(base) > len(longest):
            found = name
    return found or None


def variable_of(name: str) -> str:
    return f"OMNIGRAPH_TOKEN_{name.upper().replace('-', '_')}"


def credentials_path(environ: Mapping[str, str]) -> Path:
    home = operator_home(environ)
    if home is None:
        raise InvalidCredentials("there is no home directory to keep credentials in", "set OMNIGRAPH_HOME")
    return home / "credentials"


def read_token(name: str, environ: Mapping[str, str]) -> str | None:
    """The token of a server in the file; blank ones count as none."""
    if operator_home(environ) is None:
        return None
    inside = False
    for line in _lines(credentials_path(environ)):
        section = _SECTION.fullmatch(line)
        if section:
            inside = section["name"].strip() == name
            continue
        key, equals, value = line.partition("=")
        if inside and equals and key.strip() == "token":
            return _unquoted(value.strip()) or None
    return None


def write_token(name: str, token: str | None, environ: Mapping[str, str]) -> Path:
    """Sets the token of a server, or removes it. Everything else in the file stays as it is."""
    path = credentials_path(environ)
    kept: list[str] = []
    inside = False
    for line in _lines(path):
        section = _SECTION.fullmatch(line)
        if section:
            inside = section["name"].strip() == name
        if not inside:
            kept.append(line)
    if token is not None:
        kept += [f"[{name}]", f"token = {token}"]
    elif not path.exists():
        return path
    _replace(path, "".join(f"{line}\n" for line in kept))
    return path


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_mode & OTHERS:
            raise InvalidCredentials(
                f"'{path}' can be read by others, so it is not used", f"run `chmod 600 {path}`, and replace its tokens"
            )
        return path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidCredentials(f"cannot read '{path}': {error}") from error


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].strip()
    return value


def _replace(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, and nobody but its owner sees either."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".credentials.")  # 0600 from the first byte
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            with suppress(OSError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise InvalidCredentials(f"cannot write '{path}': {error.strerror or error}") from error

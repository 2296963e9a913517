"""Token sources: a secret of a secrets manager, or variables and a file. Read at boot, and again when they change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.strict_json import DECODER
from omnigraph.server.auth.bearer import TokenSet

AWS_SECRET = "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET"
TOKENS_FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
TOKENS_JSON = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
ONE_TOKEN = "OMNIGRAPH_SERVER_BEARER_TOKEN"
DEFAULT_ACTOR = "default"


class InvalidTokens(BadRequest):
    """Tokens that cannot be used. Their text is never part of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSource:
    """Where the tokens of a server come from. `read` gives those of now."""

    name: str
    one: str | None = None
    file: str | None = None
    inline: str | None = None
    secret: str | None = None

    def read(self) -> TokenSet:
        """Raises InvalidTokens; the caller keeps what it had."""
        if self.secret is not None:
            return TokenSet(_checked({}, _members(_aws_secret(self.secret), "the secret")))
        tokens: dict[str, str] = {} if self.one is None else {DEFAULT_ACTOR: self.one}
        if self.file is not None:
            return TokenSet(_checked(tokens, _members(_file_text(self.file), f"the token file '{self.file}'")))
        if self.inline is not None:
            return TokenSet(_checked(tokens, _members(self.inline, TOKENS_JSON)))
        return TokenSet(_checked(tokens, {}))

    def stamp(self) -> tuple[int, ...] | None:
        """Changes when the file does; None for sources that are only read again on a signal."""
        if self.file is None or self.secret is not None:
            return None
        try:
            found = os.stat(self.file)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino


def token_source(environ: Mapping[str, str], file: str | None = None) -> TokenSource:
    """What flags and variables say. A secret of a secrets manager stands alone; a blank variable is unset."""
    given = {name: environ.get(name, "").strip() or None for name in (AWS_SECRET, TOKENS_FILE, TOKENS_JSON, ONE_TOKEN)}
    if given[AWS_SECRET] is not None:
        return TokenSource(name="aws-secrets-manager", secret=given[AWS_SECRET])
    return TokenSource(
        name="env-or-file", one=given[ONE_TOKEN], file=file or given[TOKENS_FILE], inline=given[TOKENS_JSON]
    )


def _file_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidTokens(f"the token file '{path}' cannot be read: {reason}") from None


def _members(text: str, what: str) -> dict[str, Any]:
    try:
        found = DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidTokens(f"{what} is not valid JSON, line {error.lineno}", _FORM) from None
    except (ValueError, RecursionError):
        raise InvalidTokens(f"{what} names an actor twice or has a value that is not JSON", _FORM) from None
    if not isinstance(found, dict):
        raise InvalidTokens(f"{what} is not a JSON object", _FORM)
    return found


_FORM = 'write {"actor": "token", …}'


def _checked(tokens: dict[str, str], more: Mapping[str, Any]) -> dict[str, str]:
    """One token for each actor and one actor for each token, none of them blank."""
    for actor, token in more.items():
        name = actor.strip()
        if not name:
            raise InvalidTokens("an actor of the bearer tokens is blank")
        if not isinstance(token, str) or not token.strip():
            raise InvalidTokens(f"the bearer token of actor '{name}' is blank or not a string")
        if name in tokens:
            raise InvalidTokens(f"actor '{name}' has two bearer tokens")
        tokens[name] = token.strip()
    if len(set(tokens.values())) < len(tokens):
        raise InvalidTokens("two actors have the same bearer token")
    return tokens


def _aws_secret(secret: str) -> str:
    try:
        import boto3  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InvalidTokens(
            f"{AWS_SECRET} is set, and reading it needs boto3, which is not installed",
            "pip install 'omnigraph[aws]', or unset the variable; no other source is used in its place",
        ) from None
    try:
        found = boto3.client("secretsmanager").get_secret_value(SecretId=secret)
    except Exception as error:  # noqa: BLE001 - whatever boto3 raises, its text may hold more than a name
        raise InvalidTokens(f"the secret '{secret}' cannot be read: {type(error).__name__}") from None
    if "SecretString" not in found:
        raise InvalidTokens(f"the secret '{secret}' is binary", _FORM)
    return str(found["SecretString"])

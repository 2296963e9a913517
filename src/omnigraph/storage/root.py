"""Roots: where a graph lives. A local path, `file://…` or `s3://bucket/prefix`, normalised once."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from omnigraph.model.errors import InvalidRoot
from omnigraph.model.late_dataclass import dataclass

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_URI_AS_PATH = re.compile(r"(file|s3|https?):/")
"""A path keeps one of the slashes of a URI."""
_TRUE = {"1", "true", "yes", "on"}

# An unreachable store must fail within seconds, with the store's own words, not after the default minutes.
S3_CONNECT_TIMEOUT_S = 5
S3_REQUEST_TIMEOUT_S = 60
S3_RETRIES_MAX = 4
S3_RETRY_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class Root:
    """A graph's storage root. `uri` has no trailing slash; a local one has no scheme either."""

    uri: str
    kind: Literal["local", "s3"]
    options: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False, repr=False)
    """What the object-store client needs to connect; empty for a local root. Holds secrets: never printed."""

    def join(self, path: str) -> str:
        """The absolute URI of a path relative to the root."""
        return f"{self.uri}/{path}"

    @property
    def is_local(self) -> bool:
        return self.kind == "local"

    @property
    def lance_options(self) -> dict[str, str] | None:
        return dict(self.options) or None

    @property
    def bucket(self) -> str:
        return self.uri.removeprefix("s3://").partition("/")[0]

    @property
    def prefix(self) -> str:
        return self.uri.removeprefix("s3://").partition("/")[2]


Address: TypeAlias = str | os.PathLike[str]
"""How callers name a graph: a path, or a URI as text."""


def parse_root(address: Address, environment: Mapping[str, str] | None = None) -> Root:
    """The root that an address names. Refuses what is not storage, before any I/O."""
    environment = os.environ if environment is None else environment
    text = _text_of(address)
    if not text.strip():
        raise InvalidRoot("the graph address is empty", "pass a directory, a file:// URI or an s3:// URI")
    if any(ord(char) < 32 for char in text):
        raise InvalidRoot(f"the graph address {text!r} has a control character")
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _local_root(text)
    match scheme.group(1).lower():
        case "file":
            return _local_root(_path_of_file_uri(text))
        case "s3":
            return _s3_root(text, environment)
        case "http" | "https":
            raise InvalidRoot(f"'{text}' is a server, not storage", "address a server with --server <url>")
        case other:
            raise InvalidRoot(f"'{text}' has the unknown scheme '{other}'", "use a path, file:// or s3://")


def _text_of(address: Address) -> str:
    if isinstance(address, str):
        return address
    try:
        text: Any = os.fspath(address)
    except TypeError:
        text = None
    if not isinstance(text, str):
        kind = type(address).__name__
        raise InvalidRoot(f"the graph address is of type {kind}", "pass a path, a file:// URI or an s3:// URI")
    if _URI_AS_PATH.match(text):
        raise InvalidRoot(f"the graph address '{text}' is a URI that was made a path", "pass the URI as text")
    return text


def _path_of_file_uri(text: str) -> str:
    rest = text[len("file://") :]
    host, slash, path = rest.partition("/")
    if host not in ("", "localhost") or not slash:
        raise InvalidRoot(f"'{text}' is not an absolute file URI", "write file:///absolute/path")
    return unquote("/" + path)


def _local_root(path: str) -> Root:
    absolute = _absolute(path)
    if "?" in absolute:
        raise InvalidRoot(
            f"the path '{absolute}' has a '?'",
            "move the graph to a folder without one: Lance cannot branch tables there",
        )
    return Root(absolute, "local")


def _absolute(path: str) -> str:
    return posixpath.normpath(os.path.join(os.getcwd(), os.path.expanduser(path)))


def _s3_root(text: str, environment: Mapping[str, str]) -> Root:
    uri = "s3://" + text[len("s3://") :].rstrip("/")
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    if len(bucket) < 3 or not prefix:
        raise InvalidRoot(f"'{text}' needs a bucket and a prefix", "write s3://bucket/path/to/graph.omni")
    return Root(uri, "s3", s3_options(environment))


def s3_options(environment: Mapping[str, str]) -> dict[str, str]:
    """The `AWS_*` variables as client options. An http:// endpoint allows plain HTTP by itself."""
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or ""
    allow_http = endpoint.startswith("http://") or environment.get("AWS_ALLOW_HTTP", "").lower() in _TRUE
    path_style = environment.get("AWS_S3_FORCE_PATH_STYLE", "").lower() in _TRUE or bool(endpoint)
    options = {
        "aws_region": environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1",
        "aws_access_key_id": environment.get("AWS_ACCESS_KEY_ID", ""),
        "aws_secret_access_key": environment.get("AWS_SECRET_ACCESS_KEY", ""),
        "aws_session_token": environment.get("AWS_SESSION_TOKEN", ""),
        "aws_endpoint": endpoint,
        "aws_virtual_hosted_style_request": "false" if path_style else "true",
        "allow_http": "true" if allow_http else "",
        "connect_timeout": f"{S3_CONNECT_TIMEOUT_S}s",
        "timeout": f"{S3_REQUEST_TIMEOUT_S}s",
        "client_max_retries": str(S3_RETRIES_MAX),
        "client_retry_timeout": str(S3_RETRY_TIMEOUT_S),
    }
    return {name: value for name, value in options.items() if value}

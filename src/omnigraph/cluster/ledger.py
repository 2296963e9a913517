"""The ledger: `__cluster/state.json`, what was applied. Read strictly: a member that nobody knows is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, NoReturn, cast

from omnigraph.cluster.diagnostics import ClusterDiagnostic, failed
from omnigraph.cluster.digests import PROFILE_MEMBERS
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.strict_json import DECODER

STATE = "__cluster/state.json"
VERSION = 1
_ADDRESS = re.compile(
    r"(?P<kind>graph|schema|policy)\.(?P<name>[A-Za-z_0-9-]+)"
    r"|(?P<query>query)\.(?P<graph>[A-Za-z_0-9-]+)\.(?P<own>[A-Za-z_0-9-]+)"
    r"|(?P<provider>provider\.embedding)\.(?P<profile>[A-Za-z_0-9-]+)"
)
_DIGEST = re.compile(r"[0-9a-f]{64}")

BlobScope = Literal["server_safe", "embedded_only"]


@dataclass(frozen=True, slots=True)
class BlobBase:
    """A place that external blobs of a graph may lie in, and who may use it."""

    uri: str
    scope: BlobScope


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProfile:
    """A provider of embeddings as it was applied. A key is the name of a variable, `${NAME}`, never the key."""

    kind: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One entry of the applied revision; which of the members it may have depends on its kind."""

    digest: str
    applies_to: tuple[str, ...] | None = None
    embedding_provider: str | None = None
    embedding_profile: Mapping[str, str] | None = None
    blob_bases: tuple[BlobBase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What was applied, by kind and name."""

    revision: int = 0
    graphs: Mapping[str, Resource] = field(default_factory=dict)
    schemas: Mapping[str, Resource] = field(default_factory=dict)
    queries: Mapping[str, Mapping[str, Resource]] = field(default_factory=dict)
    """By graph, then by name."""
    policies: Mapping[str, Resource] = field(default_factory=dict)
    providers: Mapping[str, Resource] = field(default_factory=dict)
    """By address: `provider.embedding.<name>`."""


class InvalidLedger(Exception):
    """Why a ledger cannot be used. Stays in this room: a reader collects it with whatever else is wrong."""

    def __init__(self, diagnostic: ClusterDiagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def parse_ledger(data: bytes) -> Ledger:
    """The ledger that these bytes are. Raises InvalidLedger."""
    try:
        document = DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        _refuse(f"not valid JSON: {error}")
    top = _members(document, "the ledger", _TOP)
    version = top.get("version")
    if version != VERSION or isinstance(version, bool):
        found = f"version {version!r}; this release reads version {VERSION}"
        raise InvalidLedger(failed("unsupported_state_version", STATE, found))
    applied = _members(top.get("applied_revision"), "applied_revision", ("config_digest", "resources"))
    revision = top.get("state_revision", 0)
    if not isinstance(revision, int) or isinstance(revision, bool) or revision < 0:
        _refuse(f"state_revision is {revision!r}, not a number")
    resources = applied.get("resources", {})
    if not isinstance(resources, dict):
        _refuse("applied_revision.resources is not an object")
    return _sorted_out(revision, {address: _resource(address, value) for address, value in resources.items()})


_TOP = (
    "version",
    "state_revision",
    "applied_revision",
    "resource_statuses",
    "approval_records",
    "recovery_records",
    "observations",
)


def _refuse(reason: str) -> NoReturn:
    raise InvalidLedger(failed("invalid_state_json", STATE, reason))


def _members(value: object, where: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{where} is not an object")
    for name in value:
        if name not in known:
            _refuse(f"{where} has the unknown member '{name}'")
    return value


def _sorted_out(revision: int, resources: Mapping[str, Resource]) -> Ledger:
    graphs: dict[str, Resource] = {}
    schemas: dict[str, Resource] = {}
    policies: dict[str, Resource] = {}
    providers: dict[str, Resource] = {}
    queries: dict[str, dict[str, Resource]] = {}
    kinds = {"graph": graphs, "schema": schemas, "policy": policies}
    for address in sorted(resources):
        found = _ADDRESS.fullmatch(address)
        if found is None:
            _refuse(f"'{address}' is not the address of a resource")
        if found["query"]:
            queries.setdefault(found["graph"], {})[found["own"]] = resources[address]
        elif found["provider"]:
            providers[address] = resources[address]
        else:
            kinds[found["kind"]][found["name"]] = resources[address]
    return Ledger(
        revision=revision, graphs=graphs, schemas=schemas, queries=queries, policies=policies, providers=providers
    )


def _resource(address: str, value: object) -> Resource:
    optional: dict[str, Callable[[Any, str], Any]] = {}
    if address.startswith("policy."):
        optional = {"applies_to": _texts}
    elif address.startswith("graph."):
        optional = {"embedding_provider": _text, "external_blob_policy": _bases}
    elif address.startswith("provider."):
        optional = {"embedding_profile": _profile}
    members = _members(value, address, ("digest", *optional))
    digest = _text(members.get("digest"), f"{address}.digest")
    if not _DIGEST.fullmatch(digest):
        _refuse(f"{address}.digest is not a digest")
    read = {
        name: check(members[name], f"{address}.{name}")
        for name, check in optional.items()
        if members.get(name) is not None
    }
    if "external_blob_policy" in read:
        read["blob_bases"] = read.pop("external_blob_policy")
    return Resource(digest=digest, **read)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        _refuse(f"{where} is not text")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        _refuse(f"{where} is not a list")
    return tuple(_text(item, where) for item in value)


def _profile(value: Any, where: str) -> dict[str, str]:
    members = _members(value, where, PROFILE_MEMBERS)
    return {name: _text(text, f"{where}.{name}") for name, text in members.items() if text is not None}


def _bases(value: Any, where: str) -> tuple[BlobBase, ...]:
    members = _members(value, where, ("mode", "bases"))
    if members.get("mode") != "allow":
        _refuse(f"{where}.mode is {members.get('mode')!r}; a policy that denies is absent")
    bases = members.get("bases")
    if not isinstance(bases, list) or not bases:
        _refuse(f"{where}.bases is not a list of bases")
    return tuple(_base(item, where) for item in bases)


def _base(value: Any, where: str) -> BlobBase:
    members = _members(value, f"{where}.bases", ("uri", "scope"))
    scope = members.get("scope")
    if scope not in ("server_safe", "embedded_only"):
        _refuse(f"{where}.bases has the unknown scope {scope!r}")
    return BlobBase(_text(members.get("uri"), f"{where}.bases.uri"), cast("BlobScope", scope))

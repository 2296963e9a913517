"""Layout: the names under a graph root, and nothing else. Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote

MANIFEST = "__manifest"
RECOVERY = "__recovery"
RECOVERY_AUDIT = "_graph_commit_recoveries.lance"
LEASES = "__leases"
SCHEMAS = "__schemas"
STAGING = "__staging"
TAGS = "__tags"
CLEANUP = "__cleanup"
INIT_CLAIM = "__init_claim.json"
HISTORY = "__history"
CLONE_MARK = "__clone.json"
CLONE_LOCK = "__clone.lock"
UNFINISHED_CLONE = "a clone to it did not finish; it can be run again"
"""Why there is no graph where the mark of a clone is."""

SCHEMA_SOURCE = "_schema.pg"
SCHEMA_IR = "_schema.ir.json"
SCHEMA_STATE = "__schema_state.json"
SCHEMA_FILES = (SCHEMA_SOURCE, SCHEMA_IR, SCHEMA_STATE)
CLONED_FOLDERS = ("nodes", "edges", MANIFEST, RECOVERY_AUDIT, SCHEMAS, TAGS, HISTORY, LEASES)
"""What a clone may put into its target."""

LINEAGE_FOLDERS = frozenset({"_versions", "_transactions", "_deletions", "_indices", "data"})
"""What Lance keeps of one lineage, below its folder."""


def branch_ref(location: str, branch: str) -> str:
    """The ref object of a Lance branch of the dataset at `location`."""
    return f"{location}/_refs/branches/{encode_name(branch)}.json"


def branch_tree(location: str, branch: str | None) -> str:
    """Where the versions of a lineage lie: the dataset itself, or the tree of its branch."""
    return location if branch is None else f"{location}/tree/{branch}"


def encode_name(name: str) -> str:
    """A branch or tag name as one file name: `/` becomes `%2F`."""
    return quote(name, safe="")


def lease_name(branch: str) -> str:
    return f"{LEASES}/{encode_name(branch)}"


def manifest_file(location: str, version: int) -> str:
    """The Lance manifest of a version: names count down, so the newest sorts first."""
    return f"{location}/_versions/{2**64 - 1 - version:020d}.manifest"


def version_of(file_name: str) -> int:
    """The version that a Lance manifest of this name is of."""
    return 2**64 - 1 - int(file_name.removesuffix(".manifest"))


def tag_object(name: str) -> str:
    """The object of a tag."""
    return f"{TAGS}/{encode_name(name)}.json"


def tag_of(file_name: str) -> str:
    """The tag that an object of this name is of."""
    return decode_name(file_name.removesuffix(".json"))


def decode_name(file_name: str) -> str:
    """The name that a file is of. Most names have nothing but slashes to decode, and there may be thousands."""
    name = file_name.replace("%2F", "/")
    return unquote(file_name) if "%" in name else name

"""Tags: names of commits that stay where they are, one object each in `__tags/`. Other implementations ignore them.

Whoever makes or moves one holds the lease of the graph, as does whoever makes or deletes a branch: so the names of
branches and tags stay apart, and a commit that gets a tag cannot go away meanwhile.
"""

from __future__ import annotations

import json
import time

from omnigraph.history.commits import find_commit, require_kept, snapshot_at
from omnigraph.history.names import check_new_tag, is_possible_name
from omnigraph.language import did_you_mean
from omnigraph.model.errors import BranchExists, Conflict, Corrupt, Json, NotFound, OmniGraphError, ReadSetChanged
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import format_datetime
from omnigraph.storage import MANIFEST, TAGS, GraphStorage, tag_object, tag_of
from omnigraph.storage.objects import StoredObject

VERSION = 1


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for one commit."""

    name: str
    commit_id: str
    created_at: int
    """Microseconds since the epoch."""
    actor_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "name": self.name,
            "commit_id": self.commit_id,
            "created_at": format_datetime(self.created_at // 1000),
            "actor_id": self.actor_id,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(eq=False)
class TagNotFound(NotFound):
    """No tag of this name."""

    tag: str
    remedy: str | None = None

    def sentence(self) -> str:
        return f"tag '{self.tag}' not found"

    @property
    def hint(self) -> str | None:
        return self.remedy

    def details(self) -> dict[str, Json]:
        return {"tag": self.tag}


@dataclass(eq=False)
class TagExists(Conflict):
    """A tag of this name exists."""

    tag: str
    commit_id: str
    remedy: str = "choose another name, or move the tag with force=True (--force)"

    def sentence(self) -> str:
        return f"tag '{self.tag}' already exists: it names commit {self.commit_id}"

    @property
    def hint(self) -> str | None:
        return self.remedy

    def details(self) -> dict[str, Json]:
        return {"tag": self.tag, "commit_id": self.commit_id}


def create_tag(
    storage: GraphStorage, name: str, commit_id: str, *, actor_id: str | None = None, force: bool = False
) -> Tag:
    """Gives a commit a name. A name that is taken is refused, unless `force` moves it to this commit."""
    storage.require_writable()
    name = check_new_tag(name)
    with storage.leases.hold(graph=True) as held:
        if name in storage.lineages.names(MANIFEST):
            raise BranchExists(name, name)
        commit = find_commit(storage, commit_id)
        shown = snapshot_at(storage, commit).tables
        require_kept(storage, shown)  # a name for what cannot be read any more would be of no use
        tag = Tag(name, commit.commit_id, time.time_ns() // 1000, actor_id)
        held.check()
        before = storage.objects.read(tag_object(name))
        _write(storage, tag, force=force)
        try:
            require_kept(storage, shown)  # it may be about to be removed: from now on the tag stands against that
        except OmniGraphError:
            _take_back(storage, name, before)
            raise
    return tag


def _take_back(storage: GraphStorage, name: str, before: StoredObject | None) -> None:
    if before is None:
        storage.objects.delete(tag_object(name))
    else:
        storage.objects.write(tag_object(name), before.data)


def delete_tag(storage: GraphStorage, name: str) -> Tag:
    """Removes a tag and returns what it was. The commit stays."""
    storage.require_writable()
    with storage.leases.hold(graph=True) as held:
        tag = require_tag(storage, name)
        held.check()
        storage.objects.delete(tag_object(tag.name))
    return tag


def tag_list(storage: GraphStorage) -> list[Tag]:
    """Every tag, sorted by name."""
    found = (find_tag(storage, name) for name in tag_names(storage))
    return [tag for tag in found if tag is not None]


def tag_names(storage: GraphStorage) -> list[str]:
    """The names of all tags, sorted. Reads no tag."""
    files = storage.objects.list_names(TAGS)
    return sorted(tag_of(file) for file in files if file.endswith(".json"))


def find_tag(storage: GraphStorage, name: str) -> Tag | None:
    """The tag of this name, or None: also for what can be no name, which storage is not asked about."""
    if not is_possible_name(name):
        return None
    found = storage.objects.read(tag_object(name))
    return None if found is None else _read(name, found.data)


def require_tag(storage: GraphStorage, name: str) -> Tag:
    """The tag of this name. Raises TagNotFound, which suggests the nearest name."""
    name = name.strip()
    tag = find_tag(storage, name)
    if tag is None:
        raise TagNotFound(name, did_you_mean(name, tag_names(storage)))
    return tag


def _write(storage: GraphStorage, tag: Tag, *, force: bool) -> None:
    members = {
        "version": VERSION,
        "name": tag.name,
        "graph_commit_id": tag.commit_id,
        "created_at": tag.created_at,
        "actor_id": tag.actor_id,
    }
    data = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
    path = tag_object(tag.name)
    if storage.objects.write_if_absent(path, data) is not None:
        return
    found = storage.objects.read(path)
    if found is None:
        raise ReadSetChanged(f"tag:{tag.name}")
    if not force:
        raise TagExists(tag.name, _read(tag.name, found.data).commit_id)
    if storage.objects.write_if_match(path, data, found.etag) is None:
        raise ReadSetChanged(f"tag:{tag.name}")


def _read(name: str, data: bytes) -> Tag:
    try:
        members = json.loads(data)
        return Tag(name, str(members["graph_commit_id"]), int(members["created_at"]), members.get("actor_id"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(tag_object(name), f"not a tag: {error}") from error

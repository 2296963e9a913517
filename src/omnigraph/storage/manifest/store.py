"""`__manifest` on disk: opening a branch or a version of it, keeping its state warm, committing rows, compacting.

A warm load costs one probe of the newest version. When the manifest moved, only the fragments that were added since
are read: rows are never deleted, so the old state plus the rows of unseen fragments is the new state, also after a
compaction. A branch that was just cut has the fragments of its source, and nothing of it is read.
"""

from __future__ import annotations

import copy
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from omnigraph.model.errors import (
    BranchNotFound,
    BranchReplaced,
    Corrupt,
    FormatStampUnreadable,
    FormatTooNew,
    FormatTooOld,
    GraphNotFound,
    GraphReplaced,
    HistoricalVersionReclaimed,
)
from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import Durability
from omnigraph.storage.lance import (
    Compaction,
    Dataset,
    Fault,
    Handles,
    LanceOperation,
    Stamp,
    VersionFiles,
    classify,
    require_whole,
    require_whole_fragments,
    sync_operation,
    sync_version,
    sync_version_file,
    translate,
    translated,
)
from omnigraph.storage.manifest.row_writes import (
    HeadPlace,
    StagedSwap,
    find_head,
    merge_rows,
    only_moves_head,
    stage_first,
    stage_swap,
    swap_head,
)
from omnigraph.storage.manifest.rows import READ_COLUMNS, STAMP_KEY, GraphCommit, ManifestRow, decode
from omnigraph.storage.manifest.state import BranchIdentifier, Incarnation, ManifestState, fold_rows
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.root import Root

COMPACT_ABOVE_FRAGMENTS = 64
"""A publish costs time per fragment; above this many the writer that holds the lease merges the small ones."""

COMPACTED_ROWS_MIN, COMPACTED_FRAGMENTS = 4096, 16
"""Fragments of a sixteenth of all rows, or of 4,096, are left alone: merging 64 small ones takes 40 ms whatever the
length of history, while rewriting everything would take 60 ms after 10,000 commits and 250 ms after 100,000."""

READ_BLOCK_BYTES = 8 * 1024 * 1024
"""A compacted manifest of many thousand commits still comes in one request."""

BRANCH_LIST_TRIES = 3
PAST_MAX = 8
"""So many earlier versions stay in memory. They share what they have in common."""
"""A listed ref may be deleted before it is read; then list again, at most this often."""

NEVER_MADE = "the branch has a ref but no version, as after a power cut while it was created: delete the branch"

_RELEASES = {1: "written by 0.3.1 or earlier", 2: "written by 0.4.1 to 0.6.1", 3: "written by 0.6.2 to 0.7.2"}
_log = logging.getLogger("omnigraph.storage")


class CommitLost(Exception):
    """Another publish touched the same rows first. Never leaves this package: the publisher retries or gives up."""


@dataclass(frozen=True, slots=True)
class LoadedManifest:
    """One branch of `__manifest` at one version."""

    branch: str
    identifier: BranchIdentifier
    version: int
    state: ManifestState
    fragments: frozenset[tuple[int, str]]
    handle: Any  # the Lance handle of this version; shared, so nobody may move it
    head_place: HeadPlace | None = field(default=None, compare=False)  # where the head row lies, once that is known
    stamp: Stamp | None = field(default=None, compare=False)  # of this version's file


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows that are on disk already, to be committed on exactly this base."""

    base: LoadedManifest
    rows: tuple[ManifestRow, ...]
    swap: StagedSwap

    def fits(self, base: LoadedManifest, rows: Sequence[ManifestRow]) -> bool:
        return self.base.handle is base.handle and self.rows == tuple(rows)


@dataclass(frozen=True, slots=True)
class BranchRef:
    """A graph branch as its ref object describes it."""

    name: str
    identifier: BranchIdentifier
    parent: str | None  # None: cut from main
    parent_version: int
    created_at: int  # seconds since the epoch


class ManifestStore:
    """The `__manifest` of one graph. Thread-safe; everything it hands out is immutable."""

    def __init__(
        self,
        root: Root,
        objects: ObjectStore,
        handles: Handles,
        versions: VersionFiles,
        durability: Durability = "full",
    ) -> None:
        self._root = root
        self._objects = objects
        self._handles = handles
        self._versions = versions
        self._genesis: str | None = None
        self._durability = durability
        self._lock = threading.Lock()
        self._warm: dict[str, LoadedManifest] = {}
        self._past: OrderedDict[tuple[str, BranchIdentifier, int], LoadedManifest] = OrderedDict()
        """Earlier versions that were read or left behind lately: a merge soon asks for where its branch began."""

    # --- reading ------------------------------------------------------------------------------------------

    def load(self, branch: str = MAIN) -> LoadedManifest:
        """The newest version of a branch."""
        identifier = self.identifier(branch)
        with self._lock:
            warm = self._warm.get(branch)
        if warm is None or warm.identifier != identifier:
            return self._keep(self._read(branch, identifier, None, None))
        newest = self._versions.newest(self._path(branch), warm.version, warm.stamp)
        if newest == warm.version:
            return warm
        if newest is None:
            self._forget_all()
        return self._keep(self._read(branch, identifier, newest, None if newest is None else warm))

    def load_at(self, branch: str, version: int, older: LoadedManifest | None = None) -> LoadedManifest:
        """A branch at an earlier version, as time travel needs it.

        `older` is what it had before, on this branch or the one that it was cut from: then only newer rows are read.
        """
        identifier = self.identifier(branch)
        with self._lock:
            warm = self._warm.get(branch)
            past = self._past.get((branch, identifier, version))
        if warm is not None and warm.identifier == identifier and warm.version == version:
            return warm
        if past is not None and self._versions.stamp(self._path(branch), version) == past.stamp is not None:
            return past
        loaded = self._read(branch, identifier, version, older, is_past=True)
        with self._lock:
            self._keep_past(loaded)
        return loaded

    @property
    def genesis(self) -> str:
        """The id of the graph's first commit. It is known once anything was loaded, and never changes."""
        if self._genesis is None:
            self.load(MAIN)
        return self._genesis or ""

    def identifier(self, branch: str) -> BranchIdentifier:
        """The incarnation of a branch; refuses one that does not exist."""
        return () if branch == MAIN else self.ref(branch).identifier

    def require(self, incarnation: Incarnation) -> None:
        """Refuses a branch that was deleted, or deleted and made again, since it was read."""
        if self.identifier(incarnation.branch) != incarnation.identifier:
            raise BranchReplaced(incarnation.branch)

    def require_still(self, loaded: LoadedManifest) -> None:
        """Refuses a graph or a branch that was replaced since it was loaded: then missing files are no damage."""
        self.load(MAIN)
        if self.identifier(loaded.branch) != loaded.identifier:
            raise BranchReplaced(loaded.branch)

    def ref(self, branch: str) -> BranchRef:
        found = self._objects.read(layout.branch_ref(layout.MANIFEST, branch))
        if found is None:
            raise BranchNotFound(branch)
        if not found.data.strip():
            raise Corrupt(self._root.join(self._path(branch)), NEVER_MADE)
        return _parse_ref(branch, found.data)

    def branch_refs(self) -> list[BranchRef]:
        """The refs of every named branch, sorted by name; the schema lock included."""
        for _ in range(BRANCH_LIST_TRIES):
            names = self._objects.list_names(f"{layout.MANIFEST}/_refs/branches")
            branches = [layout.decode_name(name.removesuffix(".json")) for name in names if name.endswith(".json")]
            read = {
                branch: self._objects.read(layout.branch_ref(layout.MANIFEST, branch)) for branch in sorted(branches)
            }
            refs = [(branch, ref.data) for branch, ref in read.items() if ref is not None]
            if len(refs) == len(branches):  # else one was deleted between the list and the read
                return [_parse_ref(branch, data) for branch, data in refs if data.strip()]
        raise Corrupt(f"{layout.MANIFEST}/_refs/branches", "refs vanish faster than they can be listed")

    def own_commit(self, ref: BranchRef, commit_id: str) -> GraphCommit | None:
        """A commit that was made on this branch itself; what the branch inherited is not read."""
        with self._lock:
            warm = self._warm.get(ref.name)
        if warm is not None and warm.identifier == ref.identifier:
            return self.load(ref.name).state.commits.get(commit_id)
        handle, _ = self._open(ref.name, None)
        own = [fragment for fragment in handle.get_fragments() if fragment.metadata.files[0].base_id is None]
        with translated(self._root.join(self._path(ref.name))):
            rows = decode(handle.scanner(columns=READ_COLUMNS, fragments=own).to_table()) if own else ()
        return next((row for row in rows if isinstance(row, GraphCommit) and row.commit_id == commit_id), None)

    def branches(self) -> list[str]:
        """The branches that can be read: main and every named one, sorted. What a power cut left of one is none."""
        named = (ref.name for ref in self.branch_refs() if ref.name != SCHEMA_APPLY_LOCK)
        return sorted([MAIN, *(name for name in named if not self._root.is_local or self._has_versions(name))])

    def _has_versions(self, branch: str) -> bool:
        return self._versions.has_whole(self._path(branch))

    def forget(self, branch: str) -> None:
        """Drops what is warm of a branch that was deleted or created."""
        with self._lock:
            self._warm.pop(branch, None)
        self._handles.forget(layout.branch_tree(layout.MANIFEST, None if branch == MAIN else branch))

    # --- writing ------------------------------------------------------------------------------------------

    def stage(self, base: LoadedManifest, rows: Sequence[ManifestRow]) -> StagedRows | None:
        """Writes the files of a later `commit` of these rows on this base; None when there is nothing to gain by it.

        Nothing refers to the files: a stage that is not used leaves garbage and no more.
        """
        if not only_moves_head(base.branch, rows, base.state):
            return None
        folder = self._root.join(self._path(base.branch))
        with translated(folder):
            swap = self._stage_swap(base, rows)
            if swap is None:
                return None
            if self._is_synced:
                sync_operation(folder, swap.created)
            return StagedRows(base, tuple(rows), swap)

    def _stage_swap(self, base: LoadedManifest, rows: Sequence[ManifestRow]) -> StagedSwap | None:
        if base.branch not in base.state.heads:
            return stage_first(base.handle, rows, self._root.lance_options)
        place = base.head_place or find_head(base.handle, base.branch)
        return None if place is None else stage_swap(base.handle, place, rows, self._root.lance_options)

    def commit(
        self, base: LoadedManifest, rows: Sequence[ManifestRow], staged: StagedRows | None = None
    ) -> LoadedManifest:
        """Writes rows on top of `base` in one Lance commit, or raises `CommitLost`.

        Lance is told to retry zero times: it would replay our rows over a state that nobody checked.
        """
        path = self._path(base.branch)
        if staged is None or not staged.fits(base, rows):
            staged = self.stage(base, rows)
        try:
            loaded = self._merge(base, rows) if staged is None else self._swap(base, rows, staged.swap)
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) is Fault.CONFLICT or self._remove_torn(path):
                raise CommitLost from error
            raise translate(error, self._root.join(path)) from error
        self._keep(loaded)
        return loaded

    def _swap(self, base: LoadedManifest, rows: Sequence[ManifestRow], staged: StagedSwap) -> LoadedManifest:
        if self._root.is_local:
            require_whole(self._root.join(self._path(base.branch)), staged.created)
        swapped = swap_head(base.handle, staged, self._root.lance_options)
        if self._is_synced:
            with translated(str(swapped.handle.uri)):
                sync_version_file(swapped.handle)
        if swapped.handle.version != base.version + 1:
            return self._after(base, swapped.handle, rows)
        kept = (fragment for fragment in base.fragments if fragment[0] not in staged.removed)
        return LoadedManifest(
            base.branch,
            base.identifier,
            int(swapped.handle.version),
            base.state.fold(rows),
            frozenset((*kept, _fragment_name(swapped.handle.get_fragment(swapped.place.fragment_id)))),
            swapped.handle,
            swapped.place,
            self._stamp_of(base.branch, swapped.handle),
        )

    def _merge(self, base: LoadedManifest, rows: Sequence[ManifestRow]) -> LoadedManifest:
        handle = copy.copy(base.handle)
        merge_rows(handle, rows)
        self._sync(base.handle, handle)
        return self._after(base, handle, rows)

    def compact(self, base: LoadedManifest) -> LoadedManifest:
        """The same rows in few fragments. The caller holds the branch's lease: a publish must not run beside it."""
        reach(Point.MANIFEST_COMPACTING)
        handle = copy.copy(base.handle)
        with translated(self._root.join(self._path(base.branch))):
            rewritten = [task.execute(handle) for task in _compaction_tasks(handle)]
            if self._root.is_local:
                folder = self._root.join(self._path(base.branch))
                written = [fragment for each in rewritten for fragment in each.new_fragments]
                require_whole_fragments(folder, written)
                if self._is_synced:  # before a version names them: a power cut tears that version's own file alone
                    sync_operation(folder, LanceOperation.Append(written))
            Compaction.commit(handle, rewritten)
        self._sync(base.handle, handle)
        reach(Point.MANIFEST_COMPACTED)
        stamp = self._stamp_of(base.branch, handle)
        return self._keep(self._loaded(base.branch, base.identifier, handle, base.state, stamp))

    def settle(self, loaded: LoadedManifest) -> None:
        """Makes durable what another writer published last; it may have died before it did."""
        if self._is_synced:
            path = self._path(loaded.branch)
            with translated(self._root.join(path)):
                before = self._handles.open_for_change(path, loaded.version - 1) if loaded.version > 1 else None
            self._sync(before, loaded.handle)

    def is_worth_compacting(self, loaded: LoadedManifest) -> bool:
        """Whether a compaction would leave fewer fragments at all."""
        with translated(self._root.join(self._path(loaded.branch))):
            return bool(_compaction_tasks(loaded.handle))

    def needs_compaction(self, loaded: LoadedManifest) -> bool:
        return len(loaded.fragments) > COMPACT_ABOVE_FRAGMENTS

    # --- parts --------------------------------------------------------------------------------------------

    def _path(self, branch: str) -> str:
        return layout.branch_tree(layout.MANIFEST, None if branch == MAIN else branch)

    def _keep(self, loaded: LoadedManifest) -> LoadedManifest:
        with self._lock:
            warm = self._warm.get(loaded.branch)
            if warm is None or warm.identifier != loaded.identifier or warm.version < loaded.version:
                self._warm[loaded.branch] = loaded
                if warm is not None:
                    self._keep_past(warm)
        return loaded

    def _keep_past(self, loaded: LoadedManifest) -> None:
        self._past[loaded.branch, loaded.identifier, loaded.version] = loaded
        self._past.move_to_end((loaded.branch, loaded.identifier, loaded.version))
        while len(self._past) > PAST_MAX:
            self._past.popitem(last=False)

    def _require_known_files(self) -> None:
        """Forgets everything if what we know of another branch is not there any more: the folder was replaced, perhaps
        by an older copy of the same graph, and tables that the branches share are not what they were either."""
        with self._lock:
            known = self._warm.get(MAIN) or next(iter(self._warm.values()), None)
        if known is not None and self._versions.newest(self._path(known.branch), known.version, known.stamp) is None:
            self._forget_all()

    def _forget_all(self) -> None:
        """A version that we know is gone or is another file: whatever lies here now, it is not what we remember."""
        with self._lock:
            self._warm.clear()
            self._past.clear()
        self._handles.forget()

    def _read(
        self,
        branch: str,
        identifier: BranchIdentifier,
        version: int | None,
        warm: LoadedManifest | None,
        *,
        is_past: bool = False,
    ) -> LoadedManifest:
        if warm is None:
            self._require_known_files()
        handle, stamp = self._open(branch, version)
        self._check_format(handle, is_past=is_past)
        fragments = {_fragment_name(fragment): fragment for fragment in handle.get_fragments()}
        warm = warm or self._akin(frozenset(fragments))
        seen = warm.fragments if warm is not None else frozenset()
        unseen = [fragment for name, fragment in fragments.items() if name not in seen]
        rows: list[ManifestRow] = []
        with translated(self._root.join(self._path(branch))):
            if unseen:
                rows = list(decode(handle.scanner(columns=READ_COLUMNS, fragments=unseen).to_table()))
        state = warm.state.fold(rows) if warm is not None else fold_rows(rows)
        if warm is None:
            self._require_same_graph(state)
        return self._loaded(branch, identifier, handle, state, stamp)

    def _require_same_graph(self, state: ManifestState) -> None:
        """A handle serves one graph. Another one that was made in its place has another schema and other entities."""
        genesis = state.genesis
        with self._lock:
            self._genesis = self._genesis or genesis
        if genesis != self._genesis:
            raise GraphReplaced(self._root.uri)

    def _akin(self, fragments: frozenset[tuple[int, str]]) -> LoadedManifest | None:
        """What is warm of a branch that this one was cut from, or goes on from: all of its fragments are here too.

        Files have unique names, so the rows of theirs are ours, and ours that are not theirs came later.
        """
        with self._lock:
            known = (*self._warm.values(), *self._past.values())
        akin = [each for each in known if each.fragments <= fragments]
        return max(akin, key=lambda warm: len(warm.fragments), default=None)

    def _open(self, branch: str, version: int | None) -> tuple[Dataset, Stamp | None]:
        """A version and the stamp of its file. The stamp is taken first: if the file is replaced in between, the next
        look finds that they do not agree."""
        path = self._path(branch)
        try:
            at, stamp = self._versions.latest(path) if version is None else (version, None)
            if at is None:
                at = int(self._handles.open_for_change(path).version)
            stamp = stamp or self._versions.stamp(path, at)
            return self._handles.open_for_change(path, at, block_bytes=READ_BLOCK_BYTES), stamp
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) is not Fault.MISSING:
                self._refuse_unfinished_clone()
                torn = self._versions.torn(path)
                if torn is None or version not in (None, torn):
                    raise translate(error, self._root.join(path)) from error
                if not self._versions.has_whole(path):
                    raise self._unreadable(branch, error) from error
                _log.warning("%s: version %d was torn by a power cut, and is passed over", path, torn)
                return self._open(branch, torn - 1)
            if version is not None:
                raise HistoricalVersionReclaimed(path, version) from error
            if branch == MAIN:
                raise GraphNotFound(self._root.uri, _why_not_a_graph(self._objects)) from error
            raise Corrupt(self._root.join(path), NEVER_MADE) from error

    def _refuse_unfinished_clone(self) -> None:
        """What a clone left that could neither finish nor tidy up is no damage: there is no graph yet."""
        if self._objects.exists(layout.CLONE_MARK) and not self._objects.exists(layout.SCHEMA_SOURCE):
            raise GraphNotFound(self._root.uri, layout.UNFINISHED_CLONE)

    def _unreadable(self, branch: str, error: BaseException) -> Exception:
        """No version of a branch can be read: damage to main, or a branch that was never made."""
        where = self._root.join(self._path(branch))
        return translate(error, where) if branch == MAIN else Corrupt(where, NEVER_MADE)

    def _check_format(self, handle: Dataset, *, is_past: bool) -> None:
        raw = (handle.schema.metadata or {}).get(STAMP_KEY.encode())
        if raw is None and is_past:
            return  # the Rust releases set the stamp after the first version; the newest one has been checked
        if raw is None:
            raise FormatTooOld(self._root.uri, 1, _RELEASES[1])
        try:
            stamp = int(raw)
        except ValueError:
            raise FormatStampUnreadable(self._root.uri, raw.decode(errors="replace")) from None
        if stamp < INTERNAL_SCHEMA_VERSION:
            raise FormatTooOld(self._root.uri, stamp, _RELEASES.get(stamp, "written by an early release"))
        if stamp > INTERNAL_SCHEMA_VERSION:
            raise FormatTooNew(self._root.uri, stamp)

    def _loaded(
        self,
        branch: str,
        identifier: BranchIdentifier,
        handle: Dataset,
        state: ManifestState,
        stamp: Stamp | None,
    ) -> LoadedManifest:
        fragments = frozenset(_fragment_name(fragment) for fragment in handle.get_fragments())
        own = None if branch == MAIN else Incarnation(branch, identifier)
        return LoadedManifest(branch, identifier, int(handle.version), state.of(own), fragments, handle, stamp=stamp)

    def _stamp_of(self, branch: str, handle: Dataset) -> Stamp | None:
        """Of a version that was committed just now, while the branch was held."""
        return self._versions.stamp(self._path(branch), int(handle.version))

    def _after(self, base: LoadedManifest, handle: Dataset, rows: Sequence[ManifestRow]) -> LoadedManifest:
        if handle.version != base.version + 1:
            # Only a writer that ignores our lease can cause this. The rows are in; the recorded version is off, which
            # readers tolerate by searching forward.
            _log.error(
                "defect: publish on %s landed as version %d, recorded %d", base.branch, handle.version, base.version + 1
            )
            return self._read(base.branch, base.identifier, int(handle.version), None)
        stamp = self._stamp_of(base.branch, handle)
        return self._loaded(base.branch, base.identifier, handle, base.state.fold(rows), stamp)

    @property
    def _is_synced(self) -> bool:
        return self._root.is_local and self._durability == "full"

    def _sync(self, before: Dataset | None, after: Dataset) -> None:
        if self._is_synced:
            with translated(str(after.uri)):
                sync_version(before, after)

    def _remove_torn(self, path: str) -> bool:
        """Makes room for the next version where a power cut left a torn one. The caller holds the branch's lease."""
        torn = self._versions.remove_torn(path)
        if torn is not None:
            _log.warning("%s: version %d was torn by a power cut, was never confirmed, and is removed", path, torn)
        return torn is not None


def _compaction_tasks(handle: Dataset) -> list[Any]:
    target = max(COMPACTED_ROWS_MIN, int(handle.count_rows()) // COMPACTED_FRAGMENTS)
    return list(Compaction.plan(handle, {"target_rows_per_fragment": target}).tasks)


def _fragment_name(fragment: Any) -> tuple[int, str]:
    files = fragment.metadata.files
    return (int(fragment.fragment_id), str(files[0]._path) if files else "")


def _parse_ref(branch: str, data: bytes) -> BranchRef:
    try:
        ref = json.loads(data)
        mapping = tuple((int(version), str(uuid)) for version, uuid in ref["identifier"]["version_mapping"])
        return BranchRef(branch, mapping, ref["parentBranch"], int(ref["parentVersion"]), int(ref["createAt"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(layout.branch_ref(layout.MANIFEST, branch), f"not a branch ref: {error}") from error


def _why_not_a_graph(objects: ObjectStore) -> str:
    if not objects.has_any(""):
        return "the directory or prefix is empty or does not exist"
    if objects.exists(layout.CLONE_MARK):
        return layout.UNFINISHED_CLONE
    if any(objects.exists(name) for name in layout.SCHEMA_FILES):
        return "there are schema files but no __manifest: an init did not finish"
    return "there is no __manifest"

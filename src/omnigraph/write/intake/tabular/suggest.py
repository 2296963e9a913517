"""A first mapping for a source, from its column names and a few rows: something to read, mend and keep."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.errors import BadRequest, InvalidValue, Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import coerce_json
from omnigraph.write.intake.source_files import SourceFile
from omnigraph.write.intake.tabular.arrow_values import json_values
from omnigraph.write.intake.tabular.binding import target_of
from omnigraph.write.intake.tabular.csv_items import sample_rows
from omnigraph.write.intake.tabular.json_items import sample_objects
from omnigraph.write.intake.tabular.mapping import InvalidMapping, MappingSet, read_mappings
from omnigraph.write.intake.tabular.parquet_items import sample_batch
from omnigraph.write.intake.tabular.sources import check_options, dialect, source_files
from omnigraph.write.intake.tabular.text_values import converter

SAMPLE_ROWS = 100
_NEAR = 0.75
_FROM = ("from", "src", "source", "start", "from id", "source id", "src id", "start id")
_TO = ("to", "dst", "target", "end", "dest", "destination", "to id", "target id", "dst id", "end id")

Sample = Mapping[str, Sequence[Any]]
"""Column → its first values, texts or values of their own type; None where there is none."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested mapping, and notes to review before using it.

    >>> suggestion = graph.suggest_mapping("people.csv")
    >>> suggestion.mapping, suggestion.notes
    ({'type': 'Person'}, ())
    """

    mapping: dict[str, Json]
    notes: tuple[str, ...]


def suggest_mapping(sample: Sample, catalog: Catalog, *, entity: NodeType | EdgeType | None = None) -> Suggestion:
    """The mapping whose type and properties fit these columns best."""
    if not sample:
        raise BadRequest("a source without columns cannot be mapped")
    chosen = entity if entity is not None else max(catalog.entities, key=lambda each: _score(each, sample))
    targets = _matches(chosen, list(sample))
    mapping: dict[str, Json] = {"edge" if chosen.kind == "edge" else "type": chosen.name}
    ends = {target: name for name, target in targets.items() if target in ("from", "to")}
    mapping |= {word: ends[word] for word in ("from", "to") if word in ends and ends[word] != word}
    renamed = {name: target for name, target in targets.items() if target not in ("from", "to") and name != target}
    if renamed:
        mapping["columns"] = dict(renamed)
    if left := [name for name in sample if name not in targets]:
        mapping["ignore"] = list(left)
    return Suggestion(mapping, tuple(_notes(chosen, targets, sample, left)))


def suggest_for(
    paths: Iterable[str | Path],
    file_format: str,
    catalog: Catalog,
    *,
    type_name: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Suggestion:
    """The suggestion for files: one mapping, or one per file when there are several."""
    chosen = dict(options or {})
    check_options(file_format, chosen)
    named = read_mappings(None, catalog, type_name=type_name).only
    entity = None if named is None else named.entity
    files = source_files(paths, file_format)
    if len(files) == 1:
        return _of_file(files[0], file_format, catalog, entity, chosen)
    by_file: dict[str, Json] = {}
    notes: list[str] = []
    for file in files:
        each = _of_file(file, file_format, catalog, entity, chosen)
        by_file[Path(file.path).name] = each.mapping
        notes += [f"{Path(file.path).name}: {note}" for note in each.notes]
    return Suggestion({"sources": by_file}, tuple(notes))


def _of_file(
    file: SourceFile,
    file_format: str,
    catalog: Catalog,
    entity: NodeType | EdgeType | None,
    options: Mapping[str, str],
) -> Suggestion:
    if entity is None:
        try:
            entity = MappingSet(catalog).of(file.inner).entity
        except InvalidMapping:
            entity = None  # the file is not named after a type: its columns decide
    return suggest_mapping(_sample(file, file_format, options), catalog, entity=entity)


def _sample(file: SourceFile, file_format: str, options: Mapping[str, str]) -> Sample:
    if file_format == "csv":
        columns, rows = sample_rows(file.path, dialect(file.path, options), SAMPLE_ROWS)
        whole = [row for row in rows if len(row) == len(columns)]
        found: dict[str, Sequence[Any]] = {name: [row[place] for row in whole] for place, name in enumerate(columns)}
        return found | {name: [value] for name, value in file.partitions}
    if file_format == "json":
        objects = sample_objects(file.path, SAMPLE_ROWS)
        names = dict.fromkeys(name for each in objects for name in each)
        return {name: [each.get(name) for each in objects] for name in names}
    batch = sample_batch(file, SAMPLE_ROWS)
    return {name: json_values(batch.column(place), None) for place, name in enumerate(batch.schema.names)}


# --- matching ---------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    """A name without its spelling: `fullName`, `full_name` and `Full Name` are the same."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[^a-z0-9]+", " ", spaced.lower()).strip()


def _score(entity: NodeType | EdgeType, sample: Sample) -> tuple[float, float]:
    targets = _matches(entity, list(sample))
    required = {*entity.key} if isinstance(entity, NodeType) and entity.key else set()
    if isinstance(entity, EdgeType):
        required = {"from", "to"}
    met = len(required & set(targets.values())) / len(required) if required else 0.5
    return met, len(targets) / max(len(sample), len(entity.properties) + len(required))


def _matches(entity: NodeType | EdgeType, columns: list[str]) -> dict[str, str]:
    """Column → target: equal names first, then equal words, then near ones; each target once."""
    targets = {name: target for name in columns if (target := target_of(entity, name)) is not None}
    open_targets = [name for name in entity.by_name if name not in targets.values()]
    words = {_plain(name): name for name in open_targets}
    if isinstance(entity, EdgeType):
        for word, spellings in (("from", (*_FROM, _plain(entity.from_type))), ("to", (*_TO, _plain(entity.to_type)))):
            if word not in targets.values():
                words |= {spelling: word for spelling in spellings if spelling not in words}
    for near in (False, True):
        for name in columns:
            if name in targets:
                continue
            plain = _plain(name)
            found = difflib.get_close_matches(plain, list(words), n=1, cutoff=_NEAR) if near else [plain]
            target = words.get(found[0]) if found else None
            if target is not None and target not in targets.values():
                targets[name] = target
    return {name: targets[name] for name in columns if name in targets}


def _notes(
    entity: NodeType | EdgeType, targets: Mapping[str, str], sample: Sample, left: Sequence[str]
) -> Iterable[str]:
    filled = set(targets.values())
    needed = [prop.name for prop in entity.properties if not prop.type.nullable and prop.default is None]
    for name in [*(("from", "to") if entity.kind == "edge" else ()), *needed]:
        if name not in filled:
            yield f"no column fits '{name}' of {entity.name}, which every {entity.kind} needs"
    for name, target in targets.items():
        if target in entity.by_name and (odd := _odd_value(entity, target, sample[name])) is not None:
            yield f"column '{name}' does not read as {entity.by_name[target].type}: {odd}"
    if left:
        yield f"left out: {', '.join(left)}"


def _odd_value(entity: NodeType | EdgeType, target: str, values: Sequence[Any]) -> str | None:
    prop = entity.by_name[target]
    convert = converter(prop.type)
    for value in values:
        if value is None:
            continue
        try:
            coerce_json(convert(value) if convert and isinstance(value, str) else value, prop.type, target)
        except InvalidValue as error:
            return error.value
    return None

"""Why a schema change is refused: steps that cannot be done, branches and tags in the way, rows that do not fit."""

from __future__ import annotations

from omnigraph.language.schema import UnsupportedChange
from omnigraph.model.errors import BadRequest, Conflict, Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.evolution.facts import BlockingBranch
from omnigraph.write.rules import ValidationFailed


@dataclass(eq=False)
class SchemaChangeUnsupported(BadRequest):
    """Steps of the change cannot be done. Nothing was changed."""

    steps: tuple[UnsupportedChange, ...]

    def sentence(self) -> str:
        first, *others = self.steps
        mark = f"[{first.code}] " if first.code else ""
        more = f" (and {len(others)} more)" if others else ""
        return f"{mark}unsupported change on {first.entity}: {first.reason}{more}"

    def render(self) -> str:
        _, *others = self.steps
        return "\n".join([self.sentence(), *(f"  {step.line()}" for step in others)])

    def details(self) -> dict[str, Json]:
        return {"steps": [step.to_json() for step in self.steps]}


@dataclass(eq=False)
class SchemaBlockedByBranches(Conflict):
    """Branches exist that the change would cut off from main. Nothing was changed."""

    branches: tuple[BlockingBranch, ...]

    def sentence(self) -> str:
        names = ", ".join(branch.name for branch in self.branches)
        return f"this schema change needs a graph without other branches than main; found: {names}"

    @property
    def hint(self) -> str | None:
        return "merge or delete them first (`omnigraph merge --dry-run` shows what a merge would bring), or wait for it"

    def details(self) -> dict[str, Json]:
        listed: list[Json] = [
            {"name": each.name, "head_commit_id": each.head_commit_id, "written_at": each.written_at}
            for each in self.branches
        ]
        return {"blocking_branches": listed}


@dataclass(eq=False)
class SchemaBlockedByTags(Conflict):
    """Tags name commits that show what is to be dropped for good. Nothing was changed."""

    tags: tuple[str, ...]

    def sentence(self) -> str:
        return f"what is dropped for good is still shown by tags: {', '.join(self.tags)}"

    @property
    def hint(self) -> str | None:
        return "delete the tags first, or drop it without losing data"

    def details(self) -> dict[str, Json]:
        return {"tags": list(self.tags)}


class SchemaRowsRefused(ValidationFailed):
    """Stored rows break what the new schema demands. Nothing was changed."""

    @property
    def hint(self) -> str | None:
        return "correct or delete these entities, then apply the schema again"

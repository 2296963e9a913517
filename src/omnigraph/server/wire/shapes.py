"""Shapes: the numbers and words that the wire's structs are made of. A title names an enum in the API document."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

Uint = Annotated[int, Meta(ge=0)]
U32 = Annotated[int, Meta(ge=0, extra_json_schema={"format": "int32"})]
U64 = Annotated[int, Meta(ge=0, extra_json_schema={"format": "int64"})]
I64 = Annotated[int, Meta(extra_json_schema={"format": "int64"})]

BlobEntityKind = Annotated[Literal["node", "edge"], Meta(title="BlobEntityKind")]
EntityKindOutput = Annotated[Literal["node", "edge"], Meta(title="EntityKindOutput")]
LoadMode = Annotated[Literal["overwrite", "append", "merge"], Meta(title="LoadMode")]
BranchMergeOutcome = Annotated[
    Literal["already_up_to_date", "fast_forward", "merged"], Meta(title="BranchMergeOutcome")
]
MergeConflictKindOutput = Annotated[
    Literal[
        "divergent_insert",
        "divergent_update",
        "delete_vs_update",
        "orphan_edge",
        "unique_violation",
        "cardinality_violation",
        "value_constraint_violation",
    ],
    Meta(title="MergeConflictKindOutput"),
]
ChangeOpOutput = Annotated[Literal["insert", "update", "delete"], Meta(title="ChangeOpOutput")]
ChangeDiffRefusalReason = Annotated[
    Literal["parentless_commit", "schema_boundary", "unknown"], Meta(title="ChangeDiffRefusalReason")
]
ParamKind = Annotated[
    Literal["string", "bool", "int", "bigint", "float", "date", "datetime", "blob", "vector", "list"],
    Meta(title="ParamKind"),
]
ErrorCode = Annotated[
    Literal[
        "unauthorized",
        "forbidden",
        "bad_request",
        "not_found",
        "method_not_allowed",
        "conflict",
        "too_many_requests",
        "internal",
    ],
    Meta(title="ErrorCode"),
]

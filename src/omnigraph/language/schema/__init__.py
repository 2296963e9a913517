"""The schema language: `.pg` text to schema IR and catalog, migration plans, and the formatter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.schema.catalog import Annotation as Annotation
    from omnigraph.language.schema.catalog import Cardinality as Cardinality
    from omnigraph.language.schema.catalog import Catalog as Catalog
    from omnigraph.language.schema.catalog import CheckRule as CheckRule
    from omnigraph.language.schema.catalog import EdgeType as EdgeType
    from omnigraph.language.schema.catalog import Embed as Embed
    from omnigraph.language.schema.catalog import NodeType as NodeType
    from omnigraph.language.schema.catalog import Property as Property
    from omnigraph.language.schema.catalog import RangeRule as RangeRule
    from omnigraph.language.schema.compile import CompiledSchema as CompiledSchema
    from omnigraph.language.schema.compile import compile_schema as compile_schema
    from omnigraph.language.schema.format import format_schema as format_schema
    from omnigraph.language.schema.ir import SchemaIR as SchemaIR
    from omnigraph.language.schema.ir_read import InvalidSchemaIR as InvalidSchemaIR
    from omnigraph.language.schema.ir_read import schema_ir_from_json as schema_ir_from_json
    from omnigraph.language.schema.ir_write import schema_ir_hash as schema_ir_hash
    from omnigraph.language.schema.ir_write import schema_ir_to_json as schema_ir_to_json
    from omnigraph.language.schema.plan import MigrationPlan as MigrationPlan
    from omnigraph.language.schema.plan import plan_migration as plan_migration
    from omnigraph.language.schema.project import catalog_from_ir as catalog_from_ir
    from omnigraph.language.schema.resolve import inert_hints as inert_hints
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "catalog": (
                "Annotation",
                "Cardinality",
                "Catalog",
                "CheckRule",
                "EdgeType",
                "Embed",
                "NodeType",
                "Property",
                "RangeRule",
            ),
            "compile": (
                "CompiledSchema",
                "compile_schema",
            ),
            "format": ("format_schema",),
            "ir": ("SchemaIR",),
            "ir_read": (
                "InvalidSchemaIR",
                "schema_ir_from_json",
            ),
            "ir_write": (
                "schema_ir_hash",
                "schema_ir_to_json",
            ),
            "plan": (
                "MigrationPlan",
                "plan_migration",
            ),
            "project": ("catalog_from_ir",),
            "resolve": ("inert_hints",),
        },
    )

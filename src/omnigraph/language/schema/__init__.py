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
    from omnigraph.language.schema.ir import ColumnRule as ColumnRule
    from omnigraph.language.schema.ir import SchemaIR as SchemaIR
    from omnigraph.language.schema.ir_read import InvalidSchemaIR as InvalidSchemaIR
    from omnigraph.language.schema.ir_read import schema_ir_from_json as schema_ir_from_json
    from omnigraph.language.schema.ir_write import schema_ir_hash as schema_ir_hash
    from omnigraph.language.schema.ir_write import schema_ir_to_json as schema_ir_to_json
    from omnigraph.language.schema.plan import EnumRenames as EnumRenames
    from omnigraph.language.schema.plan import MigrationPlan as MigrationPlan
    from omnigraph.language.schema.plan import plan_migration as plan_migration
    from omnigraph.language.schema.project import catalog_from_ir as catalog_from_ir
    from omnigraph.language.schema.resolve import Resolution as Resolution
    from omnigraph.language.schema.resolve import inert_hints as inert_hints
    from omnigraph.language.schema.resolve import stored_renames as stored_renames
    from omnigraph.language.schema.steps import AddConstraint as AddConstraint
    from omnigraph.language.schema.steps import AddProperty as AddProperty
    from omnigraph.language.schema.steps import AddType as AddType
    from omnigraph.language.schema.steps import ChangeCardinality as ChangeCardinality
    from omnigraph.language.schema.steps import ChangeImplements as ChangeImplements
    from omnigraph.language.schema.steps import ChangePropertyType as ChangePropertyType
    from omnigraph.language.schema.steps import DropProperty as DropProperty
    from omnigraph.language.schema.steps import DropType as DropType
    from omnigraph.language.schema.steps import ExtendEnum as ExtendEnum
    from omnigraph.language.schema.steps import RemoveConstraint as RemoveConstraint
    from omnigraph.language.schema.steps import RenameEnumValues as RenameEnumValues
    from omnigraph.language.schema.steps import RenameProperty as RenameProperty
    from omnigraph.language.schema.steps import RenameType as RenameType
    from omnigraph.language.schema.steps import Step as Step
    from omnigraph.language.schema.steps import UnsupportedChange as UnsupportedChange
    from omnigraph.language.schema.steps import UpdatePropertyMetadata as UpdatePropertyMetadata
    from omnigraph.language.schema.steps import UpdateTypeMetadata as UpdateTypeMetadata
    from omnigraph.language.schema.transplant import with_property as with_property
    from omnigraph.language.schema.transplant import with_type as with_type
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
            "ir": (
                "ColumnRule",
                "SchemaIR",
            ),
            "ir_read": (
                "InvalidSchemaIR",
                "schema_ir_from_json",
            ),
            "ir_write": (
                "schema_ir_hash",
                "schema_ir_to_json",
            ),
            "plan": (
                "EnumRenames",
                "MigrationPlan",
                "plan_migration",
            ),
            "project": ("catalog_from_ir",),
            "resolve": (
                "Resolution",
                "inert_hints",
                "stored_renames",
            ),
            "steps": (
                "AddConstraint",
                "AddProperty",
                "AddType",
                "ChangeCardinality",
                "ChangeImplements",
                "ChangePropertyType",
                "DropProperty",
                "DropType",
                "ExtendEnum",
                "RemoveConstraint",
                "RenameEnumValues",
                "RenameProperty",
                "RenameType",
                "Step",
                "UnsupportedChange",
                "UpdatePropertyMetadata",
                "UpdateTypeMetadata",
            ),
            "transplant": (
                "with_property",
                "with_type",
            ),
        },
    )

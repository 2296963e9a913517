"""Property types: the scalars of the schema language, lists of them, vectors and enums."""

from __future__ import annotations

from enum import StrEnum

from omnigraph.model.late_dataclass import dataclass

VECTOR_DIMENSION_MAX = 2_147_483_647


class Scalar(StrEnum):
    """The base types. The value is the spelling in `.pg`, in `.gq` and in the schema IR."""

    STRING = "String"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATE = "Date"
    DATETIME = "DateTime"
    BLOB = "Blob"
    VECTOR = "Vector"

    @property
    def is_integer(self) -> bool:
        return self in INTEGER_BOUNDS

    @property
    def is_float(self) -> bool:
        return self in (Scalar.F32, Scalar.F64)

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float


INTEGER_BOUNDS: dict[Scalar, tuple[int, int]] = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}


@dataclass(frozen=True, slots=True)
class PropType:
    """The type of a property or parameter: a scalar, a list of scalars, a vector or an enum; maybe nullable."""

    scalar: Scalar
    nullable: bool = False
    is_list: bool = False
    dimension: int | None = None
    """Set exactly when `scalar` is VECTOR."""
    enum_values: tuple[str, ...] | None = None
    """Sorted and unique; set only on String properties declared as `enum(...)`."""

    def __str__(self) -> str:
        if self.scalar is Scalar.VECTOR:
            text = f"Vector({self.dimension})"
        elif self.enum_values is not None:
            text = f"enum({', '.join(self.enum_values)})"
        else:
            text = str(self.scalar.value)
        if self.is_list:
            text = f"[{text}]"
        return f"{text}?" if self.nullable else text

    @property
    def is_enum(self) -> bool:
        return self.enum_values is not None

    @property
    def is_vector(self) -> bool:
        return self.scalar is Scalar.VECTOR

    @property
    def is_blob(self) -> bool:
        return self.scalar is Scalar.BLOB

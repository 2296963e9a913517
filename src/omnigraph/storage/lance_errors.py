"""Lance's errors, classified once.

Lance raises `OSError`, `ValueError` and friends for quite different things and tells them apart in prose. This is the
only module that reads that prose; each text is pinned by a canary test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

from omnigraph.model.errors import Corrupt, Internal, OmniGraphError, StorageReadOnly, Unreachable


class Fault(Enum):
    """What a Lance exception means."""

    CONFLICT = auto()  # another commit was first
    EXISTS = auto()  # the dataset or ref is already there
    MISSING = auto()  # dataset, version, branch or file not found
    REF_IN_USE = auto()  # a branch that others depend on
    READ_ONLY = auto()  # no permission
    UNREACHABLE = auto()  # the store did not answer
    CORRUPT = auto()  # bytes that are not what they should be
    OTHER = auto()


_TEXTS: tuple[tuple[str, Fault], ...] = (
    ("too many concurrent writers", Fault.CONFLICT),
    ("retryable commit conflict", Fault.CONFLICT),
    ("incompatible transaction", Fault.CONFLICT),
    ("commit conflict for version", Fault.CONFLICT),
    ("dataset already exists", Fault.EXISTS),
    ("ref conflict error", Fault.REF_IN_USE),
    ("clone operation should not enter build_manifest", Fault.EXISTS),
    ("permission denied", Fault.READ_ONLY),
    ("read-only file system", Fault.READ_ONLY),
    ("accessdenied", Fault.READ_ONLY),
    ("403 forbidden", Fault.READ_ONLY),
    ("error sending request", Fault.UNREACHABLE),
    ("connection refused", Fault.UNREACHABLE),
    ("dns error", Fault.UNREACHABLE),
    ("operation timed out", Fault.UNREACHABLE),
    ("invalidaccesskeyid", Fault.UNREACHABLE),
    ("signaturedoesnotmatch", Fault.UNREACHABLE),
    ("nosuchbucket", Fault.UNREACHABLE),
    ("no space left", Fault.UNREACHABLE),
    ("was not found", Fault.MISSING),
    ("not found", Fault.MISSING),
    ("no such file", Fault.MISSING),
    ("does not exist", Fault.MISSING),
    ("invalid magic", Fault.CORRUPT),
    ("does not appear to be a lance", Fault.CORRUPT),
    ("failed to decode", Fault.CORRUPT),
    ("invalid format", Fault.CORRUPT),
    ("encountered corrupt", Fault.CORRUPT),
    ("corrupt", Fault.CORRUPT),
    ("file too small", Fault.CORRUPT),
    ("smaller than", Fault.CORRUPT),
    ("range start must not", Fault.CORRUPT),
    ("out of bounds", Fault.CORRUPT),
    ("magic", Fault.CORRUPT),
)


def classify(error: BaseException) -> Fault:
    """The meaning of an exception that came out of Lance."""
    text = str(error).lower()
    return next((fault for fragment, fault in _TEXTS if fragment in text), Fault.OTHER)


def brief(error: BaseException) -> str:
    """Lance's first sentence, without the source positions of its own code."""
    text = " ".join(str(error).split())
    return text.split(", /")[0].split(" /root/")[0][:300] or type(error).__name__


def translate(error: BaseException, path: str) -> OmniGraphError:
    """Our error for a Lance error that nobody expected at this place."""
    match classify(error):
        case Fault.READ_ONLY:
            return StorageReadOnly(f"cannot write '{path}': {brief(error)}")
        case Fault.UNREACHABLE:
            return Unreachable(f"storage of '{path}' did not answer: {brief(error)}")
        case Fault.CORRUPT | Fault.MISSING:
            return Corrupt(path, brief(error))
        case _:
            return Internal(f"storage engine failed at '{path}': {brief(error)}")


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Nothing that Lance raises inside leaves this block untranslated; our own errors pass."""
    try:
        yield
    except OmniGraphError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise translate(error, path) from error

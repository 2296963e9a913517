"""Lance's errors, classified once.

Lance raises `OSError`, `ValueError` and friends for quite different things and tells them apart in prose, and so does
Arrow's client of object stores. This is the only module that reads that prose; each text is pinned by a canary test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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


# In the order of the search: a text that may contain another one comes first.
_TEXTS: tuple[tuple[str, Fault], ...] = (
    ("too many concurrent writers", Fault.CONFLICT),
    ("retryable commit conflict", Fault.CONFLICT),
    ("incompatible transaction", Fault.CONFLICT),
    ("commit conflict for version", Fault.CONFLICT),
    ("dataset already exists", Fault.EXISTS),
    ("_versions/0.manifest was not found", Fault.EXISTS),  # a creation that finds another one's version 1
    ("clone operation should not enter build_manifest", Fault.EXISTS),
    ("ref conflict error", Fault.REF_IN_USE),
    ("permission denied", Fault.READ_ONLY),
    ("operation not permitted", Fault.READ_ONLY),
    ("read-only file system", Fault.READ_ONLY),
    ("no space left", Fault.UNREACHABLE),
    ("input/output error", Fault.UNREACHABLE),
    ("invalidaccesskeyid", Fault.UNREACHABLE),
    ("signaturedoesnotmatch", Fault.UNREACHABLE),
    ("nosuchbucket", Fault.UNREACHABLE),
    ("403 forbidden", Fault.READ_ONLY),
    ("aws error access_denied", Fault.READ_ONLY),  # the words of Arrow's client, which moves what was staged
    ("aws error no_such_key", Fault.MISSING),
    ("aws error", Fault.UNREACHABLE),
    ("non-2xx status code: 5", Fault.UNREACHABLE),
    ("error sending request", Fault.UNREACHABLE),
    ("request or response body error", Fault.UNREACHABLE),
    ("version not found error", Fault.CORRUPT),  # the version file is there and says that it is another version
    ("not found", Fault.MISSING),
    ("no such file", Fault.MISSING),
    ("does not appear to be a lance", Fault.CORRUPT),
    ("failed to decode protobuf", Fault.CORRUPT),
    ("encountered corrupt", Fault.CORRUPT),
    ("failed to fill whole buffer", Fault.CORRUPT),
    ("file size is too small", Fault.CORRUPT),
    ("does not have sufficient data", Fault.CORRUPT),
    ("invalid range", Fault.CORRUPT),
    ("is outside file of size", Fault.CORRUPT),
    ("unknown lance storage version", Fault.CORRUPT),
    ("lanceerror(arrow): parser error", Fault.CORRUPT),
    ("invalid seek", Fault.CORRUPT),
    ("out of range for slice", Fault.CORRUPT),
)


_INTERRUPT = "KeyboardInterrupt"
_SOURCE_POSITION = re.compile(r",? ?[\w./-]+\.rs:\d+(:\d+)?")


class EnginePanic(RuntimeError):
    """Lance broke off at an assumption of its own, mostly over bytes that no release would write."""


def classify(error: BaseException) -> Fault:
    """The meaning of an exception that came out of Lance."""
    text = str(error).lower()
    return next((fault for fragment, fault in _TEXTS if fragment in text), Fault.OTHER)


def brief(error: BaseException) -> str:
    """Lance's first sentence, without the source positions of its own code."""
    text = _SOURCE_POSITION.sub("", " ".join(str(error).split()))
    return text[:300] or type(error).__name__


def translate(error: BaseException, path: str) -> OmniGraphError:
    """Our error for a Lance error that nobody expected at this place.

    An interrupt that comes while Lance reads from Python is reported by Lance as an error of its own: it is raised as
    what it is.
    """
    if _INTERRUPT in str(error):
        raise KeyboardInterrupt from error
    match classify(error):
        case Fault.READ_ONLY:
            return StorageReadOnly(f"cannot write '{path}': {brief(error)}")
        case Fault.UNREACHABLE:
            return Unreachable(f"the store of '{path}' failed: {brief(error)}")
        case Fault.CORRUPT | Fault.MISSING:
            return Corrupt(path, brief(error))
        case _:
            return Internal(f"storage engine failed at '{path}': {brief(error)}")


class without_panics:  # noqa: N801 - used as a function; a commit enters some twenty, and a generator costs three times as much
    """A panic of the engine becomes an `EnginePanic`; as it comes it is no `Exception` and has no importable class."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and type(error).__name__ == "PanicException":
            raise EnginePanic(str(error)) from error


class translated:  # noqa: N801 - as above
    """Nothing that Lance raises inside leaves this block untranslated; our own errors pass.

    `if_missing` is asked first when a file is not there, and may raise an error that says more.
    """

    __slots__ = ("_if_missing", "_path")

    def __init__(self, path: str, if_missing: Callable[[], None] | None = None) -> None:
        self._path = path
        self._if_missing = if_missing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, OmniGraphError):
            return
        if type(error).__name__ == "PanicException":
            panic = EnginePanic(str(error))
            raise translate(panic, self._path) from error
        if isinstance(error, (OSError, ValueError, RuntimeError)):
            if self._if_missing is not None and classify(error) is Fault.MISSING:
                self._if_missing()
            raise translate(error, self._path) from error

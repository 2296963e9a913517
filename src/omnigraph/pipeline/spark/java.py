"""Java: finding a runtime that Spark can use, and the archive of classes that makes it start faster."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from omnigraph.model.errors import BadRequest, Unreachable
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.files import cache_folder

JAVA_VERSION_MIN = 17
_VERSION = re.compile(r'"?(\d+)(?:\.(\d+))?[^"\s]*"?')


class JavaMissing(Unreachable):
    """Spark needs a Java runtime, and none of a suitable version was found."""

    _hint = (
        "install a Java runtime of version 17 or newer and set JAVA_HOME, or use engine='local', which needs no Java"
    )


class SparkMasterUnusable(BadRequest):
    """A master that names no cluster that could be used."""


class SparkUnreachable(Unreachable):
    """A master that does not answer."""

    _hint = "check the address, and that the cluster is running, or use local[*]"


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime: its program and its version."""

    program: str
    version: str

    @property
    def major(self) -> int:
        found = _VERSION.match(self.version)
        if found is None:
            return 0
        first = int(found.group(1))
        return int(found.group(2) or 0) if first == 1 else first  # 1.8 is eight


def require_java() -> Java:
    """The runtime that Spark will start, or a clear refusal. Starts nothing when the runtime describes itself."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None or not os.path.exists(program):
        where = f"JAVA_HOME is '{home}', which has no bin/java" if home else "there is no `java` on the PATH"
        raise JavaMissing(f"Spark needs Java {JAVA_VERSION_MIN} or newer, and {where}")
    java = Java(program, _described(program) or _asked(program))
    if java.major < JAVA_VERSION_MIN:
        raise JavaMissing(f"Spark needs Java {JAVA_VERSION_MIN} or newer; '{program}' is version {java.version}")
    return java


def _described(program: str) -> str | None:
    """What the runtime's own `release` file says."""
    release = Path(os.path.realpath(program)).parent.parent / "release"
    try:
        text = release.read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    return found.group(1) if found else None


def _asked(program: str) -> str:
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaMissing(f"'{program}' cannot be started: {error}") from error
    found = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return found.group(1) if found else "unknown"


# --- the class archive ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """Spark's classes as the runtime shares them between starts. Made once, when a session ends; saves two seconds."""

    file: Path
    draft: Path
    """What a session that makes the archive writes; renamed when it is complete."""

    @property
    def exists(self) -> bool:
        return self.file.is_file()

    def options(self) -> str:
        """What to tell the runtime: use the archive, or write it when it ends."""
        if self.exists:
            return f"-XX:SharedArchiveFile={self.file}"
        return f"-XX:ArchiveClassesAtExit={self.draft}" if self._can_be_made() else ""

    def keep(self) -> None:
        """After the runtime has ended: the draft becomes the archive."""
        if self.draft.is_file():
            os.replace(self.draft, self.file)

    def remove_dead_drafts(self) -> None:
        """What processes left that were killed before they could keep it. A draft carries the number of its process."""
        for draft in self.file.parent.glob("*.draft"):
            with suppress(OSError, ValueError):
                if not _is_alive(int(draft.suffixes[-2].lstrip("."))):
                    draft.unlink()

    def _can_be_made(self) -> bool:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.file.parent, os.W_OK)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def class_archive(java: Java, spark_version: str, extra: str = "") -> ClassArchive:
    """The archive of this runtime and this Spark; other versions have others."""
    words = f"{os.path.realpath(java.program)} {java.version} {platform.machine()} {extra}"
    name = f"spark-{spark_version}-java-{java.major}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"
    folder = cache_folder() / "spark"
    return ClassArchive(folder / f"{name}.jsa", folder / f"{name}.{os.getpid()}.draft")

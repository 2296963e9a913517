"""The stage: what the acts share, and how a step is shown: its title, its code, its output and its time."""

from __future__ import annotations

import inspect
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from omnigraph.pipeline.spark.java import JavaMissing, require_java

Result = TypeVar("Result")


@dataclass(frozen=True)
class Stage:
    """The scratch folder, the size of the lake, and where the pipeline runs."""

    folder: Path
    rows: int
    engine: Literal["spark", "local"]

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def uri(self) -> str:
        return str(self.folder / "papers.omni")


def java_missing() -> str | None:
    """Why Spark cannot run here and how to change that, in one line; None when it can."""
    try:
        require_java()
    except JavaMissing as missing:
        packages = "openjdk-17-jre-headless (Debian, Ubuntu) or openjdk@17 (Homebrew)"
        return f"{missing.sentence()}; install {packages}, or set JAVA_HOME"
    return None


def step(title: str) -> Callable[[Callable[[], Result]], Result]:
    """Shows a function and runs it at once: the code on the screen is the code that ran. Its name holds the result."""

    def run(body: Callable[[], Result]) -> Result:
        print(f"\n== {title}")
        say(code_of(body), mark=">>> ")
        started = time.perf_counter()
        result = body()
        print(f"   [{time.perf_counter() - started:.2f} s]", flush=True)
        return result

    return run


def code_of(body: Callable[[], object]) -> str:
    """The statements of a function as a user would type them: what it returns is assigned to its name."""
    lines = inspect.getsource(body).splitlines()
    head = next(place for place, line in enumerate(lines) if line.lstrip().startswith("def "))
    return textwrap.dedent("\n".join(lines[head + 1 :])).replace("return ", f"{body.__name__} = ", 1)


def say(text: object, mark: str = "") -> None:
    """Prints what a step made, indented; code is marked as in a Python session."""
    for place, line in enumerate(str(text).splitlines()):
        print(f"   {mark if place == 0 else '... ' if mark else ''}{line}", flush=True)

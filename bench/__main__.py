"""Runs every benchmark of this folder, each in a process of its own, and prints what it prints."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}")
    failed = []
    for name in names():
        print(f"\n## {name}\n", flush=True)
        command = [sys.executable, "-m", f"bench.{name}", *sys.argv[1:]]
        if subprocess.run(command, cwd=FOLDER.parent, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def names() -> list[str]:
    """A module with a `main` is a benchmark."""
    found = (path for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))
    return sorted(path.stem for path in found if "\ndef main(" in path.read_text())


if __name__ == "__main__":
    raise SystemExit(main())

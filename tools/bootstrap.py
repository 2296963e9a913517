"""Set-up on a fresh machine: a virtual environment with the locked dependencies, and a look for Java.

Run by `make` with whatever Python 3.11+ the machine has; uses the standard library alone. Does nothing when the
environment already matches the lock file. With `--bench` it adds what the benchmarks measure beside us.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
MARK = ENVIRONMENT / ".omnigraph-locked"
BENCH_LOCK = ROOT / "requirements-bench.lock"
BENCH_MARK = ENVIRONMENT / ".omnigraph-bench-locked"
PIP = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
JAVA_MAJOR_MIN = 17
INSTALL_TRIES = 3


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 — this file is run by whatever Python a machine has
        print(f"error: Python 3.11 or newer is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    if not _is_current(MARK, LOCK):
        _create_environment()
        _install()
        MARK.write_text(_digest(LOCK))
    if "--bench" in sys.argv[1:] and not _is_current(BENCH_MARK, BENCH_LOCK):
        print("installing what the benchmarks measure beside us")
        _run([*PIP, "--require-hashes", "-r", str(BENCH_LOCK)])
        BENCH_MARK.write_text(_digest(BENCH_LOCK))
    _ensure_java()
    return 0


def _digest(lock: Path) -> str:
    """What the environment was built from: the lock, the project's own metadata, the interpreter and the place."""
    parts = (lock.read_bytes(), (ROOT / "pyproject.toml").read_bytes(), sys.version.encode(), str(ROOT).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _is_current(mark: Path, lock: Path) -> bool:
    return mark.exists() and mark.read_text() == _digest(lock)


def _create_environment() -> None:
    if not (ENVIRONMENT / "bin" / "python").exists():
        print(f"creating the virtual environment in {ENVIRONMENT.name}/")
        venv.create(ENVIRONMENT, with_pip=True, clear=True)


def _install() -> None:
    print("installing the locked dependencies (once per lock file)")
    _run([*PIP, "--require-hashes", "-r", str(LOCK)])
    _run([*PIP, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])


def _run(command: list[str]) -> None:
    """Runs an installation step; a package index may be busy, so a failure is tried again, a stated number of times."""
    for attempt in range(1, INSTALL_TRIES + 1):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return
        print(f"attempt {attempt} of {INSTALL_TRIES} failed", file=sys.stderr)
    print(result.stdout + result.stderr, file=sys.stderr)
    print(f"error: `{' '.join(command)}` failed; see above", file=sys.stderr)
    raise SystemExit(1)


# --- Java: needed by Spark alone --------------------------------------------------------------------------


def java_major(version_text: str) -> int | None:
    """The major version in the output of `java -version`: 17 of `openjdk version "17.0.15"`, 8 of `"1.8.0_392"`."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', version_text)
    if found is None:
        return None
    major = int(found.group(1))
    return int(found.group(2) or 0) if major == 1 else major


def _installed_java() -> int | None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return None
    result = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    return java_major(result.stderr + result.stdout)


def _ensure_java() -> None:
    """Takes Java from the system's package manager when it may; else says what to install and goes on."""
    found = _installed_java()
    if found is not None and found >= JAVA_MAJOR_MIN:
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        print(f"no Java {JAVA_MAJOR_MIN}+ found; installing the runtime with apt-get")
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "openjdk-17-jre-headless"]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return
    state = "no Java was found" if found is None else f"Java {found} was found"
    print(
        f"note: {state}; the data pipeline on Spark needs version {JAVA_MAJOR_MIN} or newer. Everything else works.\n"
        f"      Install a Java {JAVA_MAJOR_MIN}+ runtime, for example openjdk-17-jre-headless on Debian or\n"
        "      openjdk@17 with Homebrew, or set JAVA_HOME.",
        file=sys.stderr,
    )


if __name__ == "__main__":
    raise SystemExit(main())

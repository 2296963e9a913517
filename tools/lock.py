"""Resolves the dependencies of pyproject.toml into the lock files: exact versions with hashes, no addresses.

`requirements.lock` is what everything but the benchmarks needs; `requirements-bench.lock` is that and what is measured
beside us. The second is resolved under the versions of the first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "uv pip compile pyproject.toml --generate-hashes --universal --python-version 3.11"
FLAGS = "--no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet"
LOCKS = {
    "requirements.lock": "--group dev",
    "requirements-bench.lock": "--group dev --group bench --constraint requirements.lock",
}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        for name in sys.argv[1:] or LOCKS:
            command = [str(Path(folder) / "bin" / "uv"), *COMMAND.split()[1:], *LOCKS[name].split(), *FLAGS.split()]
            result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                print(result.stderr, file=sys.stderr)
                return result.returncode
            header = "# Written by `make lock`. Install with pip --require-hashes.\n"
            (ROOT / name).write_text(header + result.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

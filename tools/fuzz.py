"""`make fuzz`: random bytes become programs for both languages; nothing but our own diagnostics may come back."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    sys.path.insert(0, str(ROOT / "tests"))
    from language.query.fuzz_query import fuzz_once as fuzz_query  # type: ignore[import-not-found]
    from language.schema.fuzz_schema import fuzz_once as fuzz_schema  # type: ignore[import-not-found]

    for name, target in (("schema", fuzz_schema), ("query", fuzz_query)):
        deadline, rounds = time.monotonic() + seconds / 2, 0
        while time.monotonic() < deadline:
            data = os.urandom(2048)
            try:
                target(data)
            except BaseException:
                print(f"{name}: the input was {data.hex()}", file=sys.stderr)
                raise
            rounds += 1
        print(f"{name}: {rounds} programs, no surprise")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The contract's schemas and operations, as the specification writes them; the document is compared with these."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parent / "contract.txt").read_text(encoding="utf-8")
SCHEMAS, OPERATIONS = TEXT.split("=====\n")
PATHS = {line.split()[1] for line in OPERATIONS.splitlines() if re.match(r"(GET|POST|DELETE|HEAD) /", line)}

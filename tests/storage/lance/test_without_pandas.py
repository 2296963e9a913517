"""Storage is imported without pandas, and data frames work all the same afterwards."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from omnigraph.storage import open_storage
import pyarrow as pa
table = pa.table({"n": pa.array([1, 2]), "t": pa.array(["a", "b"])})
assert pa.scalar(1).as_py() == 1
assert "pandas" not in sys.modules
frame = table.to_pandas()
assert frame["n"].tolist() == [1, 2]
import pandas
assert pa.Table.from_pandas(frame, preserve_index=False).equals(table)
assert pa.array(pandas.Series([1, 2])).to_pylist() == [1, 2]
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pandas_is_imported_when_a_data_frame_is_asked_for_and_not_before() -> None:
    run(PROGRAM)


def test_a_program_that_has_imported_pandas_keeps_it() -> None:
    run("import pandas\n" + PROGRAM.replace('assert "pandas" not in sys.modules\n', ""))

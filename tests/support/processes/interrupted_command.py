"""The command line, with a Ctrl-C at a named place: `-m support.processes.interrupted_command POINT load --data …`.

Every load builds its indexes here, however small it is.
"""

from __future__ import annotations

import os
import signal
import sys

from omnigraph.cli.main import run
from omnigraph.pipeline.load import run_load as loading
from omnigraph.storage.failpoints import Point, armed


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    point = Point(sys.argv.pop(1))
    loading.INDEX_FROM_ROWS = 1
    with armed(point, press_ctrl_c):
        run()

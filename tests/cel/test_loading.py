"""Of the CEL library only the compiled part is loaded, with the first expression."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import vsched.daemon.app
from vsched.cel.expressions import compiled
assert not any(name.partition(".")[0] == "cel" for name in sys.modules), "loaded without need"
compiled("1 + 1 == 2", ())
assert [name for name in sys.modules if name.partition(".")[0] == "cel"] == ["cel.cel"]
"""


def test_a_daemon_that_meets_no_expression_does_without_the_library() -> None:
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr

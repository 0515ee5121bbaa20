"""The CEL library is loaded with the first expression only."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import vsched.daemon.app
from vsched.cel.expressions import compiled
assert "cel" not in sys.modules, "loaded without need"
compiled("1 + 1 == 2", ())
assert "cel" in sys.modules
"""


def test_a_daemon_that_meets_no_expression_does_without_the_library() -> None:
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr

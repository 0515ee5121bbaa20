"""Where the one-file executable begins.

Some commands start others of their kind as ``python -m vsched …``, which the executable has to understand in place of
the interpreter that it takes with it.
"""

from __future__ import annotations

import runpy
import sys


def main() -> None:
    match sys.argv[1:]:
        case ["-m", module, *_] if module.partition(".")[0] == "vsched":
            del sys.argv[1:3]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case _:
            from vsched.cli import main as command_line

            command_line()


main()

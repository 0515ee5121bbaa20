"""``python -m vsched.lab.bench.held.metered ARGUMENTS``: vsched, and what holds its event loop.

Notes go to a file, a line of JSON each.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import msgspec
import uvloop

from vsched.lab.bench.held.meter import Collections, Meter, MeteredLoop, Note, Watcher

VARIABLE = "VSCHED_BENCH_HELD"
"""Names the file to write."""


def main() -> None:
    """Run vsched with the arguments of this process, its loop measured."""
    from vsched.cli import main as run

    notes = Path(os.environ[VARIABLE]).open("ab", buffering=0)  # noqa: SIM115 - open until the process ends
    write, encode = notes.write, msgspec.json.Encoder().encode

    def tell(note: Note) -> None:
        write(encode(note) + b"\n")

    meter = Meter(tell)
    Watcher(meter, tell).start()
    gc.callbacks.append(Collections(tell))
    uvloop.new_event_loop = lambda: MeteredLoop(meter)
    run()


if __name__ == "__main__":
    main()

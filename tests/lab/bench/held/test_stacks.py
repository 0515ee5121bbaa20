"""What runs in each thread is read without touching its frames."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from vsched.handlers import Handlers
from vsched.lab.bench.held.stacks import PACKAGE, Stacks, functions_of


def test_the_functions_of_the_package_on_the_stack_of_a_thread_are_told() -> None:
    stacks, found = Stacks(), list[Mapping[int, list[str]]]()
    begun, seen = threading.Event(), threading.Event()

    def handle(number: int) -> None:
        begun.set()
        seen.wait(60.0)

    handlers: Handlers[int] = Handlers()
    handlers.add(handle)
    thread = threading.Thread(target=handlers, args=(1,))
    thread.start()
    try:
        assert begun.wait(60.0)
        found += [stacks.read(), stacks.read()]
    finally:
        seen.set()
        thread.join()
        stacks.close()
    assert thread.ident is not None
    assert [one[thread.ident] for one in found] == [["handlers.py:__call__"]] * 2, "each look by itself"
    assert found[0][threading.get_ident()] == [], "those that measure are not told"


def test_a_dump_is_read_outermost_first_and_each_function_counts_once() -> None:
    dump = f"""Thread 0x00000000000000ff (most recent call first):
  File "{PACKAGE}mirror/intake.py", line 12 in put
  File "{PACKAGE}mirror/intake.py", line 10 in put
  File "/usr/lib/python3.11/asyncio/events.py", line 80 in _run
  File "{PACKAGE}daemon/app.py", line 3 in <module>
  File "{PACKAGE}lab/bench/held/meter.py", line 7 in run

Current thread 0x0000000000000010 (most recent call first):
  <no Python frame>
"""
    assert functions_of(dump) == {0xFF: ["daemon/app.py:<module>", "mirror/intake.py:put"], 0x10: []}

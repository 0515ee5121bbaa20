"""``python -m vsched.lab.bench.live.profiled ARGUMENTS``: vsched, and where its processor time goes.

After every few milliseconds of processor time, a signal has the main thread look at what runs. So what waits costs
nothing, and a call into a library counts for the function that called it. SIGUSR2 says that the part of the run that is
looked at begins; the next one ends it, and the profile is written.
"""

from __future__ import annotations

import dis
import os
import signal
import sys
import threading
import time
from asyncio.runners import Runner
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

import vsched
from vsched.lab.bench.words import live as words

VARIABLE = "VSCHED_BENCH_PROFILE"
"""Names the file to write."""
LOOK_SECONDS = 0.001
"""Asked for; kernels look at such timers 100 to 1,000 times a second."""
PACKAGE = str(Path(vsched.__file__).parent) + os.sep
LINES = 40
ACTIVITIES = (
    (words.EVENT_LOOP, (words.EVENT_LOOP,)),
    (
        words.WATCHES,
        ("kube/watch", "kube/silence", "api/", "mirror/ingest", "mirror/intake", "mirror/kinds"),
    ),
    (words.REQUESTS, ("writes", "kube")),
    (words.MIRROR, ("mirror",)),
    (words.SESSIONS, ("framework", "actions", "plugins", "kernels", "model", "arbitrator")),
    ("explanations", ("explain",)),
    (words.PAGES, ("daemon/observe", "web", "clock", "log")),
    (words.DAEMON, ("daemon", "controllers")),
)
"""What a daemon does, with the beginnings of the files that do it; the first one that fits counts."""
REST = "the rest"
RESUMED = dis.opmap["RESUME"]
"""What a function begins with, and goes on with after an await: where a signal from before is seen."""


class Profiler:
    """Counts looks at what runs; all in the main thread."""

    def __init__(self, path: Path) -> None:
        self.activities: Counter[str] = Counter()
        self.parts: Counter[str] = Counter()
        """By folder of the package."""
        self.functions: Counter[str] = Counter()
        """By function of the package, what it calls outside of the package included."""
        self._path = path
        self._used: dict[int, float] = {}
        """Processor time of threads at the last look."""
        self._began: float | None = None
        """The processor time of the process when the first signal came."""

    def listen(self) -> None:
        """Wait for the first signal."""
        signal.signal(signal.SIGUSR2, self._mark)

    def _mark(self, number: int, frame: FrameType | None) -> None:
        if self._began is None:
            self._began = time.process_time()
            self._busiest()
            signal.signal(signal.SIGPROF, self._look)
            signal.setitimer(signal.ITIMER_PROF, LOOK_SECONDS, LOOK_SECONDS)
        elif signal.getitimer(signal.ITIMER_PROF)[1]:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self._path.write_text(self.text(time.process_time() - self._began), encoding="utf-8")

    def _look(self, number: int, frame: FrameType | None) -> None:
        busiest = self._busiest()
        if busiest != threading.get_ident():
            frame = sys._current_frames().get(busiest)
        self.count(frame)

    def _busiest(self) -> int:
        """The thread that used most since the last look."""
        most, found = -1.0, threading.get_ident()
        used: dict[int, float] = {}
        for thread in threading.enumerate():
            try:
                assert thread.ident is not None
                used[thread.ident] = now = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
            except OSError:  # it has ended
                continue
            since = now - self._used.get(thread.ident, 0.0)
            if since > most:
                most, found = since, thread.ident
        self._used = used
        return found

    def count(self, frame: FrameType | None) -> None:
        """Count one look at a thread that is there."""
        part, function = place_of(frame)
        self.activities[activity_of(function)] += 1
        self.parts[part] += 1
        self.functions[function] += 1

    def text(self, seconds: float) -> str:
        """The shares of so much processor time: by what it went into, by part and by function."""
        looks = self.parts.total()
        lines = [words.looked_at(seconds, looks)]
        for counts in (self.activities, self.parts, self.functions):
            lines += ["", *_shares(counts, looks)]
        return "\n".join(lines) + "\n"


def _shares(counts: Mapping[str, int], looks: int) -> list[str]:
    return [f"{count / looks:7.1%}  {name}" for name, count in Counter(counts).most_common(LINES)]


def place_of(frame: FrameType | None) -> tuple[str, str]:
    """The innermost function of the package that a thread is in: its folder, and its name."""
    if frame is not None and _just_called(frame):
        return words.EVENT_LOOP, words.EVENT_LOOP
    while frame is not None:
        path = frame.f_code.co_filename
        if frame.f_code is Runner.run.__code__:
            return words.EVENT_LOOP, words.EVENT_LOOP
        if path.startswith(PACKAGE) and path != __file__:
            inside = Path(path.removeprefix(PACKAGE))
            folder = inside.parent.as_posix() if inside.parent.parts else inside.stem
            return folder, f"{inside.as_posix()}:{frame.f_code.co_qualname}"
        frame = frame.f_back
    return words.LIBRARIES, words.LIBRARIES


def activity_of(function: str) -> str:
    """What a function of the package is a part of; ``function`` begins with its file."""
    return next((name for name, starts in ACTIVITIES if function.startswith(starts)), REST)


def _just_called(frame: FrameType) -> bool:
    """Whether the event loop has only just called this: what took the time until now was the loop itself."""
    caller = frame.f_back
    if caller is None or caller.f_code is not Runner.run.__code__:
        return False
    return frame.f_code.co_code[frame.f_lasti] == RESUMED


def main() -> None:
    """Run vsched with the arguments of this process, and write a profile."""
    from vsched.cli import main as run

    Profiler(Path(os.environ[VARIABLE])).listen()
    run()


if __name__ == "__main__":
    main()

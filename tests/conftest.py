"""What holds for every test: the seed of a run, logging as it was found, and no time limits of properties."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Generator, Mapping
from random import randrange
from typing import Any
from zlib import crc32

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine, providers

from tests.support.collecting import COLLECTIONS, freeze_for_good
from tests.support.examples import Run, examples
from tests.support.kubectl import KUBECTL
from tests.support.virtual_time import VirtualLoop
from vsched.model.memo import Memo, Mode

settings.register_profile(
    "shared-machine",
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=False,  # as Hypothesis does in CI: it would draw the same examples each time
    print_blob=True,
)
settings.load_profile("shared-machine")

# It would also draw what it reads out of those modules that are there already: with the same seed, a test would draw
# something else by itself than beside others.
providers._get_local_constants = providers.Constants

# A failure is made smaller for a minute. After Hypothesis' five, the test would have timed out, and say nothing.
engine.MAX_SHRINKING_SECONDS = 60

# Nobody is asked but this machine: without the authorities of the system each process starts 40 ms sooner.
os.environ.update(SSL_CERT_FILE=os.devnull, SSL_CERT_DIR=os.devnull)

# Tables are as wide as where there is no terminal, wherever the tests are started.
os.environ.pop("COLUMNS", None)

# kubectl ends before a garbage collector is of use to it: without, each command takes a seventh less of the processor.
os.environ.setdefault("GOGC", "off")

# What daemons in the test's own process log is not printed by commands that run beside them. Each step of each watch
# (debug) is not logged, as in a daemon without --log-level. Tracebacks are plain, as in a daemon: with the values of
# all variables, as structlog has them otherwise, one takes up to a second of the processor. Lines are not set in
# columns, which takes longer than much of what they tell of.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"], sort_keys=False),
    ],
    logger_factory=structlog.PrintLoggerFactory(sys.__stderr__),
    wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--memo``: what cycles of tests keep, unless a test says so itself."""
    parser.addoption("--memo", choices=[*Mode], default=Mode.ON.value, help="as of vsched run")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of this run, or take the one that was chosen, before Hypothesis asks for it."""
    if config.option.hypothesis_seed is None:
        chosen = getattr(config, "workerinput", {"seed": str(randrange(1 << 32))})
        config.option.hypothesis_seed = chosen["seed"]
    Run.seed = config.option.hypothesis_seed
    Memo.mode = Mode(config.option.memo)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Each of the processes that run tests is told the seed."""
    node.workerinput["seed"] = Run.seed


def pytest_report_header(config: pytest.Config) -> str:
    return f"drawn at random; the same again: --hypothesis-seed={config.option.hypothesis_seed}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``-n auto``, one more than there are cores: some tests wait for sockets, children and timers.

    Each imports and collects all tests, which takes several seconds of the processor.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


ON_VIRTUAL_TIME = ("collectors", "controllers", "daemon", "sim", "writes")
"""Rooms whose tests mostly have an API server and its clients in their own process."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Tests of these rooms are on virtual time, unless they need the machine's."""
    room = item.nodeid.split("/")[1]
    real = room not in ON_VIRTUAL_TIME or any(item.get_closest_marker(name) for name in ("real_time", "kubectl"))
    return {"real": asyncio.new_event_loop} if real else {"virtual": VirtualLoop}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of the real kubectl need one."""
    if item.get_closest_marker("kubectl") and not KUBECTL:
        pytest.skip("kubectl is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: the garbage collector need not look through it, again and again.

    After that it looks less often than in a daemon: otherwise it takes up to a seventh of the time of a test.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        freeze_for_good()
        gc.set_threshold(*COLLECTIONS)
        gc.enable()


BROWSER = "tests/web/page/"
"""The folder of tests for which there is a browser."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Beside others, files come in an order that says nothing.

    Each worker gets a part of it: those of daemons, which mostly wait, would all come to the same worker otherwise, and
    at the end all workers would wait. Those in a browser stay together, so that there is only one.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=_place_of)


def _place_of(item: pytest.Item) -> int:
    file = item.nodeid.partition("::")[0]
    return crc32((BROWSER if file.startswith(BROWSER) else file).encode())


def pytest_unconfigure() -> None:
    """Nobody needs what is garbage when the process ends: to look for it takes half a second."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """A test that sets up logging, as commands do, sets it up for itself alone."""
    root = logging.getLogger()
    handlers, level, config = root.handlers[:], root.level, structlog.get_config()
    try:
        return (yield)
    finally:
        structlog.configure(**config)
        root.handlers[:] = handlers
        root.setLevel(level)

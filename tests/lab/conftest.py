"""What is measured in the tests' own process sets the garbage collector up as for a daemon: each test puts it back."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    callbacks, thresholds = gc.callbacks[:], gc.get_threshold()
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)

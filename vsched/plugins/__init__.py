"""The policies, one file a plugin. This list is the table of contents; plugins do not know one another."""

from __future__ import annotations

from typing import Any

from vsched.framework.extension import Plugin
from vsched.plugins.binpack import Binpack
from vsched.plugins.conformance import Conformance
from vsched.plugins.drf import Drf
from vsched.plugins.gang import Gang
from vsched.plugins.nodeorder import NodeOrder
from vsched.plugins.overcommit import Overcommit
from vsched.plugins.predicates import Predicates
from vsched.plugins.priority import Priority
from vsched.plugins.proportion import Proportion

PLUGINS: tuple[type[Plugin[Any]], ...] = (
    # the order of jobs and tasks
    Priority,
    Drf,
    # all or nothing, and what may be taken back
    Gang,
    Conformance,
    # who is admitted, and how much a queue gets
    Overcommit,
    Proportion,
    # which nodes are possible, and which one is best
    Predicates,
    NodeOrder,
    Binpack,
)

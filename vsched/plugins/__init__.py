"""The plugins: each file is one scheduling policy, and ``PLUGINS`` lists them. Plugins do not import each other."""

from __future__ import annotations

from typing import Any

from vsched.framework.points.extension import Plugin
from vsched.plugins.allocation import Allocation
from vsched.plugins.binpack import Binpack
from vsched.plugins.capacity import Capacity
from vsched.plugins.cdp import Cdp
from vsched.plugins.conformance import Conformance
from vsched.plugins.deviceshare import DeviceShare
from vsched.plugins.drf import Drf
from vsched.plugins.easybackfill import EasyBackfill
from vsched.plugins.evictioncost import EvictionCost
from vsched.plugins.extender import Extender
from vsched.plugins.fragmentation import Fragmentation
from vsched.plugins.gang import Gang
from vsched.plugins.joblimits import JobLimits
from vsched.plugins.minruntime import MinRuntime
from vsched.plugins.networktopology import NetworkTopologyAware
from vsched.plugins.nodegroup import NodeGroup
from vsched.plugins.nodeorder import NodeOrder
from vsched.plugins.numaaware import NumaAware
from vsched.plugins.overcommit import Overcommit
from vsched.plugins.pdb import Pdb
from vsched.plugins.predicates import Predicates
from vsched.plugins.preemptiondelay import PreemptionDelay
from vsched.plugins.priority import Priority
from vsched.plugins.proportion import Proportion
from vsched.plugins.rescheduling import Rescheduling
from vsched.plugins.resourcequota import ResourceQuota
from vsched.plugins.resourcestrategyfit import ResourceStrategyFit
from vsched.plugins.sla import Sla
from vsched.plugins.tasktopology import TaskTopologyPlugin
from vsched.plugins.tdm import Tdm
from vsched.plugins.usage import Usage
from vsched.plugins.usagehistory import UsageHistoryPlugin
from vsched.plugins.walltime import WallTime

PLUGINS: tuple[type[Plugin[Any]], ...] = (
    # the order of jobs and tasks
    Priority,
    Drf,
    Sla,
    # gangs, and protection from eviction
    Gang,
    Conformance,
    Pdb,
    Cdp,
    MinRuntime,
    EvictionCost,
    PreemptionDelay,
    # admission of jobs, and how much a queue gets
    Overcommit,
    ResourceQuota,
    Proportion,
    Capacity,
    UsageHistoryPlugin,
    JobLimits,
    WallTime,
    # how much a namespace may hold
    Allocation,
    # filters and scores of nodes
    Predicates,
    NodeOrder,
    Binpack,
    ResourceStrategyFit,
    Fragmentation,
    Usage,
    NodeGroup,
    NumaAware,
    DeviceShare,
    Tdm,
    TaskTopologyPlugin,
    NetworkTopologyAware,
    # planned starts of jobs without room
    EasyBackfill,
    # pods to move to other nodes
    Rescheduling,
    # decisions of an external service
    Extender,
)

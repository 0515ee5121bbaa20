"""The actions: the steps of a scheduling cycle, one module each. ``ACTIONS`` lists them all."""

from __future__ import annotations

from vsched.actions.allocate import allocate
from vsched.actions.assigning import AllocateArgs
from vsched.actions.backfill import backfill
from vsched.actions.consolidate import ConsolidateArgs, consolidate
from vsched.actions.enqueue import enqueue
from vsched.actions.gang_search import GANG_PREEMPT, GANG_RECLAIM, GangArgs, GangReclaimArgs
from vsched.actions.gangs import gangpreempt, gangreclaim
from vsched.actions.ordering import OrderingArgs
from vsched.actions.placing import PlacingArgs
from vsched.actions.preempt import PreemptArgs, preempt
from vsched.actions.reclaim import reclaim
from vsched.actions.shuffle import shuffle
from vsched.actions.victim_search import ReclaimArgs
from vsched.framework.points.victims import Preemptable, Reclaimable, VictimTasks
from vsched.framework.registry import Action
from vsched.model.plan import CONSOLIDATE

ACTIONS: tuple[Action, ...] = (
    Action("enqueue", enqueue, OrderingArgs, timeless=True, by_class=True),
    Action("allocate", allocate, AllocateArgs, timeless=True, by_class=True),
    Action("preempt", preempt, PreemptArgs, timeless=True, by_class=True, victims=Preemptable),
    Action("reclaim", reclaim, ReclaimArgs, timeless=True, by_class=True, victims=Reclaimable),
    Action(GANG_PREEMPT, gangpreempt, GangArgs, timeless=True, by_class=True, victims=Preemptable),
    Action(GANG_RECLAIM, gangreclaim, GangReclaimArgs, timeless=True, by_class=True, victims=Reclaimable),
    Action("backfill", backfill, PlacingArgs, timeless=True, by_class=True),
    Action(CONSOLIDATE, consolidate, ConsolidateArgs, by_class=True),
    Action("shuffle", shuffle, victims=VictimTasks),
)

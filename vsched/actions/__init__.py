"""The actions: the steps of a scheduling cycle, one module each. ``ACTIONS`` lists them all."""

from __future__ import annotations

from vsched.actions.allocate import PlacingArgs, allocate
from vsched.actions.backfill import backfill
from vsched.actions.enqueue import enqueue
from vsched.actions.gang_search import GANG_PREEMPT, GANG_RECLAIM, GangArgs, GangReclaimArgs
from vsched.actions.gangs import gangpreempt, gangreclaim
from vsched.actions.ordering import OrderingArgs
from vsched.actions.preempt import PreemptArgs, preempt
from vsched.actions.reclaim import reclaim
from vsched.actions.shuffle import shuffle
from vsched.actions.victim_search import ReclaimArgs
from vsched.framework.registry import Action

ACTIONS: tuple[Action, ...] = (
    Action("enqueue", enqueue, OrderingArgs, timeless=True, spares_crowds=True),
    Action("allocate", allocate, PlacingArgs, timeless=True, spares_crowds=True),
    Action("preempt", preempt, PreemptArgs, timeless=True, spares_crowds=True),
    Action("reclaim", reclaim, ReclaimArgs, timeless=True, spares_crowds=True),
    Action(GANG_PREEMPT, gangpreempt, GangArgs, timeless=True, spares_crowds=True),
    Action(GANG_RECLAIM, gangreclaim, GangReclaimArgs, timeless=True, spares_crowds=True),
    Action("backfill", backfill, PlacingArgs, timeless=True, spares_crowds=True),
    Action("shuffle", shuffle),
)

"""Commands about vcjobs (``bus.volcano.sh``), as requests. Pure."""

from __future__ import annotations

from vsched.controllers.queue_records import Order
from vsched.controllers.vcjobs.spec import Action
from vsched.controllers.vcjobs.view import Request

COMMANDED = (Action.ABORT_JOB, Action.RESUME_JOB, Action.RESTART_JOB, Action.TERMINATE_JOB, Action.COMPLETE_JOB)
"""What a Command can ask for."""


def request_of(order: Order) -> Request | None:
    """What a Command asks for; None if that is nothing a Command can."""
    if order.action not in COMMANDED:
        return None
    return Request(Action(order.action), why=f"as {order} asks ({order.uid})")


def refusal_of(order: Order) -> str:
    """Why a Command is not carried out that asks for something else."""
    return f"action: {order.action[:40]!r} is unknown (expected {', '.join(COMMANDED)})"

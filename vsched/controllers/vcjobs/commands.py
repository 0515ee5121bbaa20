"""Commands about vcjobs (``bus.volcano.sh``), as requests. Pure."""

from __future__ import annotations

from vsched.controllers import words
from vsched.controllers.queue_records import Order
from vsched.controllers.vcjobs.spec import JobAction
from vsched.controllers.vcjobs.view import ActionRequest

COMMANDED = (
    JobAction.ABORT_JOB,
    JobAction.RESUME_JOB,
    JobAction.RESTART_JOB,
    JobAction.TERMINATE_JOB,
    JobAction.COMPLETE_JOB,
)
"""What a Command can ask for."""


def request_of(order: Order) -> ActionRequest | None:
    """What a Command asks for; None if that is nothing a Command can."""
    if order.action not in COMMANDED:
        return None
    return ActionRequest(JobAction(order.action), why=f"as {order} asks ({order.uid})")


def refusal_of(order: Order) -> str:
    """Why a Command is not carried out that asks for something else."""
    return words.unknown_action(order.action[:40], ", ".join(COMMANDED))

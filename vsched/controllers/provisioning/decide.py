"""What to do about the ProvisioningRequests of one gang. Pure.

All that a decision needs is in the objects: how often nodes were asked for is in the annotation of the newest request.
So a daemon that is killed between two writes goes on right, and asks for no nodes twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from vsched.controllers import words
from vsched.controllers.provisioning.records import LackingGang, OwnRequest
from vsched.framework.policy import Autoscaling
from vsched.framework.times import length
from vsched.kube.backoff import doubled
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import ASKED, FAILED, GIVEN_UP, PROVISIONED, Provisioning
from vsched.model.pods.status import Status

WITHDRAW_SECONDS = 30.0
"""How long a gang that waits has wanted no nodes before its request is withdrawn: it may find a node for a moment."""


class Need(NamedTuple):
    """What a gang needs at a time."""

    gang: LackingGang | None = None
    """None where nodes are all it lacks no longer, or where it is gone."""
    waits: bool = False
    """Whether it is there and is not known to run yet."""
    since: float = 0.0
    """Since when ``gang`` has been None, seconds since the epoch."""


class ProvisioningDecision(NamedTuple):
    """What to write, and what is told of the gang."""

    create: int = 0
    """The attempt to make a request for; 0 for none."""
    delete: tuple[OwnRequest, ...] = ()
    state: Provisioning | None = None
    wake_at: float | None = None
    """When to decide again without any change, seconds since the epoch."""


def waits_for_nodes(job: Job) -> bool:
    """Whether not all that a gang needs is known to have nodes.

    A binding that is on its way may yet be refused. Until then the nodes are kept for the gang: others would take the
    place of that pod, and another node would have to be asked for.
    """
    lacks = job.confirmed < job.spec.min_member
    return lacks and (bool(job.pending) or bool(job.counts[Status.BINDING]))


def decide(need: Need, found: Sequence[OwnRequest], rules: Autoscaling, now: float) -> ProvisioningDecision:
    """The next step for a gang with these requests."""
    if not rules.provisioning_request or not need.waits:
        return ProvisioningDecision(delete=tuple(found))
    if need.gang is None:
        return _unwanted(need, found, rules, now)
    ours = sorted((one for one in found if one.shape == need.gang.shape), key=lambda one: (one.attempt, one.name))
    others = tuple(one for one in found if one.shape != need.gang.shape)
    if not ours:
        # Nodes for another shape are given back first, so that no two requests of a gang are open.
        return ProvisioningDecision(create=0 if any(not one.ended for one in others) else 1, delete=others)
    *earlier, latest = ours
    old = (*others, *earlier)
    state = _state(latest, rules, now)
    if state.state != FAILED:
        return ProvisioningDecision(delete=old, state=state, wake_at=_changes_at(latest, rules, now))
    if now < state.retry_at:
        return ProvisioningDecision(delete=old, state=state, wake_at=state.retry_at)
    # The failed one stays until the next one is there: it counts the attempts.
    return ProvisioningDecision(create=latest.attempt + 1, delete=old, state=state)


def _unwanted(need: Need, found: Sequence[OwnRequest], rules: Autoscaling, now: float) -> ProvisioningDecision:
    """A gang waits for something else than nodes: what nodes are on their way for it is given back after a while."""
    if not found:
        return ProvisioningDecision()
    latest = max(found, key=lambda one: (one.attempt, one.name))
    withdraw_at = need.since + WITHDRAW_SECONDS
    live = tuple(one for one in found if not one.ended)
    if live and now >= withdraw_at:
        return ProvisioningDecision(delete=live)
    return ProvisioningDecision(state=_state(latest, rules, now), wake_at=withdraw_at if live else None)


def kept_until(request: OwnRequest, rules: Autoscaling) -> float:
    """Until when nodes are kept for the gang of an open request; 0 where the policy keeps none."""
    if not rules.keep_nodes:
        return 0.0
    return request.provisioned + rules.keep_nodes if request.provisioned else request.created + rules.hold_evictions


def is_in_vain(request: OwnRequest, rules: Autoscaling, now: float) -> bool:
    """Whether its gang has not started for as long as provisioned nodes are kept for it."""
    return bool(request.provisioned and rules.keep_nodes and now >= request.provisioned + rules.keep_nodes)


def _changes_at(request: OwnRequest, rules: Autoscaling, now: float) -> float | None:
    """When what is told of an open request changes with time alone."""
    until = kept_until(request, rules)
    return until if until > now else None


def _state(latest: OwnRequest, rules: Autoscaling, now: float) -> Provisioning:
    """What is told of the newest request."""
    message, ended = latest.message, latest.ended
    if not ended and is_in_vain(latest, rules, now):
        ended = latest.provisioned + rules.keep_nodes
        message = words.nodes_not_ready(length(rules.keep_nodes))
    elif not ended:
        until = kept_until(latest, rules)
        return Provisioning(
            latest.name,
            latest.class_name,
            PROVISIONED if latest.provisioned else ASKED,
            message,
            latest.attempt,
            latest.created + rules.hold_evictions,
            kept_until=until if until > now else 0.0,
            kept_since=latest.created,
        )
    state: Literal["failed", "given-up"] = GIVEN_UP if latest.attempt > rules.retries else FAILED
    wait = doubled(rules.back_off, max(rules.back_off, rules.longest_back_off), latest.attempt)
    retry_at = ended + wait if state == FAILED else 0.0
    return Provisioning(latest.name, latest.class_name, state, message, latest.attempt, retry_at=retry_at)

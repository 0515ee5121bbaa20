"""Reading the rollout of a policy from its ConfigMap, and asking for its promotion or for taking it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from vsched.api.resources import CONFIG_MAPS
from vsched.cli.rollout import words
from vsched.daemon.policy.rollout.machine import ENDED, RolloutOrder, RolloutPhase, RolloutState, figure, limit_text
from vsched.daemon.policy.rollout.reading import ORDER, shown, state_in
from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.kube.times import time_stamp
from vsched.model.amounts.durations import short_duration
from vsched.settings.rollout import KEY, RolloutSpec, read_rollout


class RolloutFound(NamedTuple):
    """A rollout as it stands on its ConfigMap."""

    where: str
    spec: RolloutSpec
    state: RolloutState


async def read(client: ApiClient, where: str) -> RolloutFound:
    """The rollout at ``NAMESPACE/NAME``; raises BadInput and BadPolicy."""
    namespace, slash, name = where.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise BadInput(words.place_expected(where))
    try:
        found: dict[str, Any] = await client.get(CONFIG_MAPS.path(namespace, name))
    except NotFound:
        raise BadInput(words.not_found(where)) from None
    text = (found.get("data") or {}).get(KEY)
    if text is None:
        raise BadInput(words.no_rollout(where))
    spec, state = read_rollout(text, f"configmap {where} {KEY}"), state_in(found["metadata"].get("annotations"))
    if state is None:
        raise BadInput(words.not_begun(where))
    return RolloutFound(where, spec, state)


async def ask(client: ApiClient, where: str, order: RolloutOrder) -> str:
    """RolloutOrder it, and return what is to be said; raises BadInput where the order would change nothing."""
    found = await read(client, where)
    phase = found.state.phase
    if phase is RolloutPhase.TAKEN_BACK or (order is RolloutOrder.PROMOTE and phase in ENDED):
        raise BadInput(words.has_ended(where, phase.value, order.value))
    namespace, _, name = where.partition("/")
    notes = {ORDER: f"{order.value} {found.state.id}"}
    await client.patch(CONFIG_MAPS.path(namespace, name), {"metadata": {"annotations": notes}})
    return words.asked(where, order.value)


def lines(found: RolloutFound) -> Iterator[str]:
    """The rollout for people."""
    spec, state = found.spec, found.state
    shard = None if state.phase is RolloutPhase.COMPLETE else spec.shard
    yield words.in_force(spec.candidate, candidate=state.in_force, shard=shard)
    since = time_stamp(state.since)
    if state.phase is RolloutPhase.BASELINE:
        yield words.before_steps(state.phase.value, since)
    else:
        yield words.at_step(state.phase.value, state.step + 1, state.steps, since)
    if state.phase in (RolloutPhase.RUNNING, RolloutPhase.HELD) and state.step < len(spec.steps):
        yield words.served(short_duration(state.served), short_duration(spec.steps[state.step].seconds))
    if not state.alone and state.phase not in ENDED and spec.shard is not None:
        yield words.waits(spec.shard)
    yield words.why(state.message)
    for limit in spec.limits:
        measured = state.figures.get(limit.measure.value)
        told = words.NOTHING if measured is None else figure(limit.measure, measured)
        yield words.figure(limit.measure.value, told, limit_text(limit))


def document(found: RolloutFound) -> dict[str, object]:
    """The rollout as JSON or YAML."""
    limits = {limit.measure.value: limit_text(limit) for limit in found.spec.limits}
    return {"configMap": found.where, "candidate": found.spec.candidate, **shown(found.state), "limits": limits}

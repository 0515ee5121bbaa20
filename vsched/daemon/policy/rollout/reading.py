"""A rollout as it is read from the ConfigMap of its policy, and its state and orders as they are written there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple

import msgspec

from vsched.daemon.policy.rollout.machine import RolloutOrder, RolloutState
from vsched.daemon.words import files as files_words
from vsched.daemon.words import rollout as words
from vsched.errors import UNREADABLE, BadPolicy
from vsched.kube.times import time_stamp
from vsched.settings import Settings
from vsched.settings.load import MOST_BYTES
from vsched.settings.rollout import KEY, RolloutSpec, read_rollout

STATE = "vsched.io/rollout"
"""The annotation with the state of the rollout, which the leader writes."""
ORDER = "vsched.io/rollout-order"
"""The annotation by which people promote or take back: the order and the id of the rollout that it is for."""


class Rollout(NamedTuple):
    """A rollout that may be carried out."""

    id: str
    spec: RolloutSpec
    candidate: Settings


def rollout_of(
    data: Mapping[str, str],
    where: str,
    own_key: str,
    own_sha256: str,
    load: Callable[[str, str], Settings],
    shards: int = 1,
) -> Rollout | None:
    """The rollout in a ConfigMap; None where there is none. Raises BadPolicy. ``load`` reads a policy; ``shards`` is in
    how many parts the cluster is decided for.
    """
    text = data.get(KEY)
    if text is None:
        return None
    if len(text) > MOST_BYTES:
        raise BadPolicy([files_words.too_large(where, KEY, MOST_BYTES // 1024)])
    spec = read_rollout(text, f"{where} {KEY}", shards=shards)
    if spec.candidate == own_key:
        raise BadPolicy([words.is_the_policy(f"{where} {KEY}", own_key)])
    candidate = data.get(spec.candidate)
    if candidate is None:
        raise BadPolicy([words.no_candidate(f"{where} {KEY}", spec.candidate)])
    if len(candidate) > MOST_BYTES:
        raise BadPolicy([files_words.too_large(where, spec.candidate, MOST_BYTES // 1024)])
    settings = load(candidate, f"{where} {spec.candidate}")
    id = sha256("\0".join((own_sha256, settings.sha256, text)).encode()).hexdigest()[:16]
    return Rollout(id, spec, settings)


def state_in(annotations: Mapping[str, str] | None) -> RolloutState | None:
    """The state that is written; None where there is none, or what is there is none."""
    try:
        return msgspec.json.decode((annotations or {}).get(STATE, ""), type=RolloutState)
    except UNREADABLE:
        return None


def order_in(annotations: Mapping[str, str] | None, id: str) -> RolloutOrder | None:
    """The order for this rollout; None where there is none."""
    word, _, about = (annotations or {}).get(ORDER, "").partition(" ")
    return next((order for order in RolloutOrder if order.value == word and about == id), None)


def shown(state: RolloutState) -> dict[str, object]:
    """A state for people: without what was measured in detail."""
    document = msgspec.to_builtins(state)
    del document["window"]
    return {**document, "seen": time_stamp(state.seen), "since": time_stamp(state.since)}

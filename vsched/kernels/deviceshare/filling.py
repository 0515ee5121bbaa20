"""How much of the devices of a node would be left over once random pods of a mix have been offered to it.

``expected_fragments`` looks at one further pod. This looks at all that would still come: to a copy of the node's state
pods of the mix are offered one after the other, each is placed if it fits (its parts on the fullest devices), and what
is free of the devices at the end is left over. The mean over several such sequences is the expected value. All states
see the same sequences, so that differences between states are not noise; and these are no random numbers but points of
a lattice, so that equal states have equal values in every session.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.kernels.deviceshare.fragments import DeviceMix, Free
from vsched.model.deviceshare.records import WHOLE
from vsched.model.nodes.table import Floats, Ints

SEQUENCES = 24
"""Sequences of pods offered to each state. Twice as many give 0.05 points more GPU allocation on OpenB."""
OFFERS = 8
"""Pods offered for each free device."""
OFFERS_MAX = 400
"""The most pods offered to a state."""
_STEP, _START = 0.7548776662466927, 0.5698402909980532
"""The plastic number's lattice: points of equal density in two dimensions (M. Roberts, 2018)."""

_MOST = np.iinfo(np.int64).max


class Offers(NamedTuple):
    """Sequences of pods, by model of the node's devices."""

    kinds: Ints
    """int64[models, offers, sequences]: positions in the mix; -1 where no pod accepts the model."""
    rate: Floats
    """float64[models]: how many pods come to a device of the model, for one that comes to the average device."""


def offers_of(mix: DeviceMix, devices: Ints, most: int, sequences: int = SEQUENCES) -> Offers:
    """Sequences of ``most`` pods for nodes of each model; ``devices`` (int64[models]) says how many the cluster has.

    A pod that accepts few models comes to these more often than one that may go anywhere.
    """
    models = len(devices)
    reach = mix.accepts.T @ devices
    weights = mix.accepts * np.divide(mix.share, reach, out=np.zeros_like(mix.share), where=reach > 0)
    total = weights.sum(axis=1)
    step = (np.arange(most) + 1)[:, None] * _STEP + (np.arange(sequences) + 1) * _START
    points = step - np.floor(step)
    kinds = np.full((models, most, sequences), -1, np.int64)
    for model in range(models):
        if total[model] > 0:
            borders = np.cumsum(weights[model]) / total[model]
            found = np.searchsorted(borders, points, side="right")
            kinds[model] = np.minimum(found, np.flatnonzero(weights[model])[-1])
    average = 1 / max(1, int(devices.sum()))
    return Offers(kinds, total / average)


def expected_leftover(mix: DeviceMix, offers: Offers, free: Free, offers_a_device: float = OFFERS) -> Floats:
    """float64[states]: thousandths of the free devices that are left over, on average."""
    sequences, states = offers.kinds.shape[2], free.devices.shape[1]
    length = np.ceil(offers_a_device * offers.rate[free.model] * free.devices.sum(axis=0) / WHOLE).astype(np.int64)
    length = np.clip(length, 2, offers.kinds.shape[1])
    # The longest first, so that those with offers left are the first columns.
    order = np.argsort(-length, kind="stable")
    length, model = length[order], free.model[order]
    devices = np.repeat(free.devices[:, order], sequences, axis=1)
    others = np.repeat(free.others[:, order], sequences, axis=1)
    for position in range(int(length.max(initial=0))):
        count = int(np.searchsorted(-length, -position, side="left"))
        kinds, end = offers.kinds[model[:count], position].reshape(-1), count * sequences
        _offer(mix, kinds, devices[:, :end], others[:, :end])
    found = np.empty(states)
    found[order] = devices.sum(axis=0).reshape(states, sequences).sum(axis=1) / sequences
    return found


def _offer(mix: DeviceMix, kinds: Ints, devices: Ints, others: Ints) -> None:
    """Offer a pod of its kind to each state; where it fits, its parts go to the fullest devices."""
    size, number, wanted = mix.thousandths[kinds], mix.number[kinds], mix.others[:, kinds]
    enough = devices >= size
    takes = (enough.sum(axis=0) >= number) & (others >= wanted).all(axis=0) & (kinds >= 0)
    at = np.flatnonzero(takes)
    if not len(at):
        return
    others[:, at] -= wanted[:, at]
    one = number[at] == 1
    single, several = at[one], at[~one]
    if len(single):
        devices[np.where(enough[:, single], devices[:, single], _MOST).argmin(axis=0), single] -= size[single]
    if len(several):
        ranked = np.where(enough[:, several], devices[:, several], _MOST)
        place = np.argsort(np.argsort(ranked, axis=0, kind="stable"), axis=0)
        devices[:, several] -= np.where(place < number[several], size[several], 0)

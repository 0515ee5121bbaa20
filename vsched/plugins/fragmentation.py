"""fragmentation: places pods so that what is left of the devices stays usable for the pods that come.

Each node is judged by what a mix of pods could not use of its free devices, before and after the pod (Weng et al.,
"Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023). With
``measure: gradient`` that is the expected fragmentation for one further pod. With ``measure: filling`` the nodes that
are best by the gradient are judged by what would be left over of their devices once many pods of the mix had been
offered to them. ``measure: best-fit`` knows no mix: it takes the node with the least cpu and devices left.

The mix is learnt from the pods of the cluster, or the policy gives it. Devices are those that nodes register to be
shared, and what the resources of ``resources`` count, each as one whole device. Which devices of a node a pod would get
is worked out as the plugin deviceshare does it (``deviceOrder``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal, Self

import msgspec
import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import CycleEnd, PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import NodeScore
from vsched.framework.points.victims import MoveGain
from vsched.framework.policy import Seconds
from vsched.kernels.deviceshare.filling import OFFERS, SEQUENCES
from vsched.kernels.deviceshare.table import DeviceOrder
from vsched.kernels.selectors import selector_mask
from vsched.model.deviceshare.records import WHOLE
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.task import Task
from vsched.plugins.devices.free import FreeDevices
from vsched.plugins.devices.given_mix import MixEntry, check_mix, given_kinds
from vsched.plugins.devices.mix import DeviceAskers, count_pods, mix_of, weights
from vsched.plugins.devices.neighbours import as_rule
from vsched.plugins.devices.scores import BestFit
from vsched.plugins.devices.states import MAX_SCORE, DeviceStates, Filling

FILLING, BEST_FIT = "filling", "best-fit"
DAY_SECONDS = 86_400.0
Count = Annotated[int, msgspec.Meta(ge=1, le=1024)]


class FragmentationArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is measured, and how the mix is learnt."""

    weight: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Of the score; 0 turns the plugin off."""
    measure: Literal["gradient", "filling", "best-fit"] = "gradient"
    half_life: Seconds = msgspec.field(default=DAY_SECONDS, name="halfLife")
    """A pod that is so much older than the newest counts half in the mix; 0: all pods count alike."""
    mix: tuple[MixEntry, ...] = ()
    """The mix; where it is given, none is learnt."""
    resources: str = "nvidia.com/gpu"
    """Resources that count whole devices, by name, comma-separated."""
    device_order: Literal["binpack", "spread", "first", "last"] = msgspec.field(default="binpack", name="deviceOrder")
    """Which of several shared devices of a node pods get, as deviceshare has it: its ``SchedulePolicy``; without one
    ``last`` for vGPUs and ``first`` for others."""
    exclusive: list[dict[str, str]] = msgspec.field(default_factory=list, name="gpuExclusiveRules")
    """Which pods share no device with each other, as deviceshare has it in its ``GPUExclusiveRules``."""
    candidates: Count = 16
    """With ``filling``: how many distinct states of nodes are judged for a pod."""
    offers: Annotated[float, msgspec.Meta(gt=0, le=64)] = OFFERS
    """With ``filling``: how many pods are offered for each free device."""
    sequences: Count = SEQUENCES
    """With ``filling``: how many sequences of pods are offered to each state."""

    def normalised(self) -> Self:
        """The same. Raises ValueError for a mix that makes no sense."""
        check_mix(self.mix)
        return self


class Fragmentation(Plugin[FragmentationArgs], NodeScore, MoveGain, PlacementListener, CycleEnd):
    """Scores nodes by how usable their devices would stay."""

    name = "fragmentation"
    args_type = FragmentationArgs

    def open(self, context: SessionContext) -> None:
        """Nodes and pods are looked at once the first score is asked for."""
        self._context = context
        self._opened = not self.args.weight
        self._states: DeviceStates | None = None
        self._best_fit: BestFit | None = None
        self._accepted: dict[Hashable, Mask] = {}

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """0 to 100 times the weight; by the gradient 50 where the pod changes nothing, more where it helps."""
        states = self._look()
        at = np.arange(len(nodes), dtype=np.int64)[rows] if isinstance(rows, slice) else np.array(rows, np.int64)
        if self._best_fit is not None:
            return self._best_fit.scores(self._free.asked(shape), at) * self.args.weight
        if states is None or self._is_filled(shape):
            return None
        return states.gradient(self._free.asked(shape), at) * self.args.weight

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether nodes are compared by what would be left over."""
        return self._look() is not None and self._is_filled(shape)

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """For the best candidates by the gradient 100 to 200 times the weight, by what would be left over.

        The others have 0 to 100 by the gradient.
        """
        states = self._look()
        if states is None or not self._is_filled(shape):
            return None
        rows = np.flatnonzero(candidates)
        gradient, best, worth = states.fillings(self._free.asked(shape), rows)
        found = np.zeros(len(nodes))
        found[rows] = gradient
        found[rows[best]] = MAX_SCORE + _bounded(worth)
        return found * self.args.weight

    def move_gain(self, task: Task, row: int, to: int) -> float:
        """By how many thousandths of a device less is fragmented on both nodes together, in expectation.

        Nothing is said of pods that have parts of devices, nor by ``best-fit``, which measures no fragmentation.
        """
        states = self._look()
        if states is None or task.shape.devices is not None:
            return 0.0
        return states.move_gain(self._free.asked(task.shape), row, to)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Note that devices of the node changed."""
        if self._follows(task):
            self._free.take(job, task, row)
        if self._states is not None:
            self._states.touch(row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Note that devices of the node changed."""
        if self._follows(task):
            self._free.give_back(job, task, row)
        if self._states is not None:
            self._states.touch(row)

    def end_cycle(self) -> None:
        """Leave what was worked out to the next cycle."""
        if self._states is not None:
            self._states.keep()

    def _follows(self, task: Task) -> bool:
        """Whether the task changes what is free of shared devices; from the first such task on they are followed."""
        if task.shape.devices is None:
            return False
        return self._look() is not None or self._best_fit is not None

    def _is_filled(self, shape: Shape) -> bool:
        return self.args.measure == FILLING and self._free.asked(shape).want.number > 0

    # -- the mix --------------------------------------------------------------------------------------------------

    def _look(self) -> DeviceStates | None:
        """The nodes as the mix sees them; None where the cluster has no devices, or no pod asks for any."""
        if not self._opened:
            self._opened = True
            self._free = FreeDevices(
                self._context.nodes,
                [name.strip() for name in self.args.resources.split(",")],
                self._context.snapshot.device_shares,
                DeviceOrder(self.args.device_order),
                tuple(map(as_rule, self.args.exclusive)),
            )
            if self._free.slots and self.args.measure == BEST_FIT:
                self._best_fit = BestFit(self._free, self._context.nodes)
            elif self._free.slots:
                self._states = self._with_mix()
        return self._states

    def _with_mix(self) -> DeviceStates | None:
        statics, args = self._context.nodes.statics, self.args
        kinds = [*given_kinds(args.mix, self._free, statics)] if args.mix else self._learnt()
        found = mix_of(kinds, np.minimum(self._free.count, self._free.slots))
        filling = Filling(args.offers, args.sequences, args.candidates)
        return None if found is None else DeviceStates(found, self._free, filling, statics)

    def _learnt(self) -> list[DeviceAskers]:
        nodes, args = self._context.nodes, self.args
        counts = count_pods(self._context.snapshot, nodes.statics, args.half_life, args.resources, self._asks)
        counted = weights(counts, args.half_life)
        wanted = [(shape, self._free.asked(shape).want, weight) for shape, weight in counted.items()]
        return [DeviceAskers(want, self._accepts(shape), weight) for shape, want, weight in wanted if want.number]

    def _asks(self, shape: Shape) -> bool:
        return shape.devices is not None or self._free.asked(shape).want.number > 0

    def _accepts(self, shape: Shape) -> Mask:
        """bool[nodes]: where such a pod could use the devices, by its node selector and the devices themselves."""
        key = shape.rules, self._free.accepted_by(shape)
        found = self._accepted.get(key)
        if found is None:
            chosen = selector_mask(shape.rules, self._context.nodes.statics)
            found = self._free.accepts(shape)
            found = self._accepted[key] = found if chosen is None else found & chosen
        return found


def _bounded(worth: Floats) -> Floats:
    """Thousandths as 0 to 100: 50 for none, 75 for one device. The same to the bit for one row as for all."""
    devices = worth / WHOLE
    found: Floats = (devices / (1.0 + np.abs(devices)) + 1.0) * (MAX_SCORE / 2)
    return found

"""Where workloads are carried out: what a mirror in memory and a cluster over HTTP have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vsched.lab.suites import words
from vsched.lab.suites.objects import allocation_of, key_of, matches
from vsched.lab.suites.operations import Labels
from vsched.lab.suites.templates import Obj


@dataclass(slots=True)
class PodRecord:
    """What is known of a pod that exists."""

    namespace: str
    labels: Labels
    bound: bool = False


@dataclass(slots=True)
class PlacementMeter:
    """Counts pods that get a node, and the time that takes."""

    name: str
    namespaces: Sequence[str]
    """Empty for all."""
    labels: Labels
    began: float
    bound: int = 0
    ended: float = 0.0
    """When the last one got its node."""
    used: Mapping[str, float] = field(default_factory=dict)
    """The processor time of each process when it began, and once it is over what each has used meanwhile; seconds."""

    def see(self, pod: PodRecord, now: float) -> None:
        """A pod got a node."""
        if selected(pod, self.namespaces, self.labels):
            self.bound += 1
            self.ended = now

    @property
    def seconds(self) -> float:
        """From the beginning to the last binding."""
        return max(0.0, self.ended - self.began)


def selected(pod: PodRecord, namespaces: Sequence[str], labels: Labels) -> bool:
    """Whether a pod is in one of the namespaces (in any where there are none) and has these labels."""
    return (not namespaces or pod.namespace in namespaces) and matches(pod.labels, labels)


class NotPlaced(Exception):
    """Pods that were to be placed stay where they are; its text says how many."""


Action = Callable[[], Awaitable[bool]]
"""What happens at intervals; False once it is over."""


@dataclass(slots=True)
class Pods:
    """The pods that exist, and who counts them."""

    known: dict[str, PodRecord] = field(default_factory=dict)
    """By ``namespace/name``."""
    meters: list[PlacementMeter] = field(default_factory=list)

    def add(self, pod: Obj) -> str:
        """A pod is created; returns its key."""
        metadata, key = pod["metadata"], key_of(pod)
        labels: Mapping[str, str] = metadata.get("labels") or {}
        self.known[key] = PodRecord(metadata["namespace"], labels, bool(pod["spec"].get("nodeName")))
        return key

    def relabel(self, pod: Obj) -> None:
        """A pod has other labels now."""
        found = self.known.get(key_of(pod))
        if found is not None:
            found.labels = pod["metadata"].get("labels") or {}

    def bind(self, key: str, now: float) -> bool:
        """A pod has a node; False where that is known, or nobody knows the pod."""
        found = self.known.get(key)
        if found is None or found.bound:
            return False
        found.bound = True
        for meter in self.meters:
            meter.see(found, now)
        return True

    def keys(self, namespaces: Sequence[str], labels: Labels) -> Iterator[str]:
        """The pods in these namespaces with these labels."""
        return (key for key, pod in self.known.items() if selected(pod, namespaces, labels))

    def waiting(self, keys: Iterable[str]) -> int:
        """How many of these exist and have no node."""
        return len(self.unbound(keys))

    def unbound(self, keys: Iterable[str]) -> list[str]:
        """Which of these exist and have no node."""
        known = self.known.get
        return [key for key in keys if (found := known(key)) is not None and not found.bound]


class SuiteCluster(ABC):
    """A cluster to which objects are given, and whose pods vsched places."""

    def __init__(self) -> None:
        self.pods = Pods()

    @abstractmethod
    def now(self) -> float:
        """The time that is measured, seconds."""

    def begin_measuring(self) -> None:
        """What comes from now on is measured."""
        return

    def used(self) -> Mapping[str, float]:
        """The processor time that each process has used so far, seconds; empty where this one is all there is."""
        return {}

    @abstractmethod
    async def create(self, objects: Iterable[Obj]) -> None:
        """Create objects, in this order as far as kinds differ."""

    @abstractmethod
    async def update(self, found: Obj) -> None:
        """Have an object say this."""

    @abstractmethod
    async def delete(self, kind: str, keys: Iterable[str]) -> None:
        """Delete objects of a kind, by key."""

    @abstractmethod
    async def allocate(self, namespace: str) -> None:
        """Give each ResourceClaim of a namespace a device."""

    @abstractmethod
    async def until_placed(self, keys: Sequence[str], at_least: int) -> None:
        """Wait until so many of these pods have a node or are gone; raises NotPlaced."""

    @abstractmethod
    async def until_attempted(self, keys: Sequence[str]) -> None:
        """Wait until the scheduler has tried to place these pods."""

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    def every(self, seconds: float, action: Action) -> None:
        """Do something at intervals from now on."""

    @abstractmethod
    async def until_over(self, action: Action) -> None:
        """Wait until an action that happens at intervals is over."""


class LeftOut(Exception):
    """Something that a workload asks for and that cannot be had here; its text says what."""


class UnclaimedDevices:
    """The devices of nodes, which claims without pods are given one after the other."""

    def __init__(self) -> None:
        self._slices: list[Obj] = []
        self._left = self._every()

    def see(self, found: Obj) -> None:
        """An object was created; this looks at ResourceSlices of nodes."""
        if found["kind"] == "ResourceSlice" and found["spec"].get("nodeName"):
            self._slices.append(found)

    def give(self, claim: Obj) -> Obj:
        """The status of a claim with a device that nobody has got yet; raises LeftOut where there is none for it."""
        requests = claim["spec"]["devices"]["requests"]
        exactly = requests[0].get("exactly") or {}
        if len(requests) != 1 or not exactly or exactly.get("selectors") or exactly.get("count", 1) != 1:
            raise LeftOut(words.ONE_DEVICE_ONLY)
        device = next(self._left, None)
        if device is None:
            raise LeftOut(words.no_device_left(key_of(claim)))
        return allocation_of(claim, device)

    def _every(self) -> Iterator[tuple[str, str, str]]:
        for found in self._slices:
            spec = found["spec"]
            yield from ((spec["driver"], spec["nodeName"], device["name"]) for device in spec["devices"])

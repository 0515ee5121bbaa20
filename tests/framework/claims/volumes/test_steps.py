"""Any sequence of steps keeps what nodes and volumes allow, and undoing it leaves no trace."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.support.storage_world import CSI, HOST, StorageWorld, ask, labelled, on, within
from vsched.framework.claims.volumes.handler import VolumeHandler
from vsched.model.claims.volumes import Volume
from vsched.model.pods.task import Task

NODES = {"n1": "a", "n2": "a", "n3": "b"}
KINDS = ("bound", "local", "csi", "tracked")
SIZES = st.integers(1, 4)
ONCE = ("ReadWriteOncePod",)
MOST = 3
STORAGE = 6


class Drawn(NamedTuple):
    """A world, its running pods, and pods that wait."""

    world: StorageWorld
    running: list[Task]
    waiting: list[Task]


@st.composite
def worlds(draw: st.DrawFn) -> Drawn:
    """Claims of all kinds, a few volumes, and pods that have some of the claims each."""
    world = (
        StorageWorld(**NODES).local_class("local").storage_class("csi").storage_class("tracked", "track.example.com")
    )
    world.driver("track.example.com", tracks_capacity=True).limit(MOST, "n1", "n2")
    for node in NODES:
        world.capacity("tracked", STORAGE, labelled(**{HOST: node}))
    places = st.sampled_from([None, on("n1"), on("n2", "n3"), within("a"), within("b")])
    for number in range(draw(st.integers(0, 5))):
        driver = draw(st.sampled_from(["", CSI]))
        name = draw(st.sampled_from(["local", "csi"]))
        world.volume(f"v{number}", name, draw(SIZES), affinity=draw(places), driver=driver, handle=f"h{number}")
        if driver and draw(st.booleans()):
            world.attach("n1", f"v{number}")
    claims = [f"c{number}" for number in range(draw(st.integers(1, 6)))]
    for claim in claims:
        kind, modes = draw(st.sampled_from(KINDS)), draw(st.sampled_from([ONCE, ("ReadWriteOnce",)]))
        if kind == "bound":
            world.bound(
                claim, modes=modes, affinity=draw(places), driver=CSI, handle=draw(st.sampled_from(["h", claim]))
            )
        else:
            world.claim(claim, kind, draw(SIZES))
    few = st.lists(st.sampled_from(claims), min_size=1, max_size=3, unique=True)
    bound = [name for name in claims if world.claims[f"ns/{name}"].bound]
    running = []
    for number in range(draw(st.integers(0, 3)) if bound else 0):
        node, leaving = draw(st.sampled_from(list(NODES))), draw(st.booleans())
        running.append(world.running(f"r{number}", node, draw(st.sampled_from(bound)), leaving=leaving))
    waiting = [world.task(f"p{number}", *draw(few)) for number in range(draw(st.integers(1, 5)))]
    return Drawn(world, running, waiting)


class Session:
    """Takes random steps that the part allows, and undoes them."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.handler: VolumeHandler = drawn.world.handler()
        self.placed: dict[str, tuple[Task, int, bool]] = {}
        self.evicted: set[str] = set()
        self.log: list[tuple[str, Task, int, Any]] = []

    def picture(self) -> list[object]:
        """All that the part says of the pods that have no place."""
        found: list[object] = []
        for task in self.drawn.waiting:
            if task.uid not in self.placed:
                asked = ask(self.drawn.world, task, self.handler)
                rooms = [(room.reason, room.most.tolist(), room.together) for room in self.handler.limits(task)]
                found.append((asked.nodes(), asked.nodes(later=True), asked.reasons(), asked.scores(), rooms))
        return found

    def step(self, data: st.DataObject) -> None:
        """One step, if there is any of the kind that was drawn."""
        kind = data.draw(st.sampled_from(["take", "take", "take", "withdraw", "evict"]))
        if kind == "take":
            self._take(data)
        elif kind == "withdraw" and self.placed:
            task, row, _ = self.placed.pop(data.draw(st.sampled_from(sorted(self.placed))))
            self.log.append((kind, task, row, self.handler.withdraw(task, row)))
        elif kind == "evict":
            staying = [task for task in self.drawn.running if task.uid not in self.evicted and not is_leaving(task)]
            if staying:
                task = data.draw(st.sampled_from(staying))
                row = list(NODES).index(task.node)
                self.handler.evict(task, row)
                self.evicted.add(task.uid)
                self.log.append((kind, task, row, None))

    def _take(self, data: st.DataObject) -> None:
        free = [task for task in self.drawn.waiting if task.uid not in self.placed]
        if free:
            task, later = data.draw(st.sampled_from(free)), data.draw(st.booleans())
            nodes = ask(self.drawn.world, task, self.handler).nodes(later=later).split()
            if nodes:
                row = list(NODES).index(data.draw(st.sampled_from(nodes)))
                self.handler.take(task, row, later=later)
                self.placed[task.uid] = (task, row, later)
                self.log.append(("take", task, row, later))
                if not any(later for _, _, later in self.placed.values()):
                    self._check_users(self._chosen(), later=False)

    def undo(self, mark: int) -> None:
        """Undo the steps after the mark, last first."""
        while len(self.log) > mark:
            kind, task, row, had = self.log.pop()
            if kind == "take":
                self.handler.give_back(task, row)
                del self.placed[task.uid]
            elif kind == "withdraw":
                self.handler.reinstate(task, row, had)
                self.placed[task.uid] = (task, row, False)
            else:
                self.handler.restore(task, row)
                self.evicted.remove(task.uid)

    # -- what must hold ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Count anew, from the plans alone: volumes, storage, users of claims, and volumes on nodes."""
        world, chosen = self.drawn.world, self._chosen()
        volumes = [name for name, _ in chosen.values() if name]
        assert len(volumes) == len(set(volumes)), "a volume for one claim"
        self._check_storage(chosen)
        self._check_users(chosen, later=True)
        for task, row, _ in self.placed.values():
            for key in keys(task):
                self._check_reached(world, key, chosen, list(NODES)[row])

    def _chosen(self) -> dict[str, tuple[str, int]]:
        """By claim: the volume that was chosen, empty for one that is made, and the row of the pod."""
        chosen: dict[str, tuple[str, int]] = {}
        for task, row, _ in self.placed.values():
            plan = self.handler.plan(task)
            for one in plan.volumes if plan is not None else ():
                known = chosen.setdefault(one.claim, (one.volume, row))
                assert known[0] == one.volume, "one choice for each claim"
                assert one.volume or known[1] == row, "a volume that is made is made for one node"
        return chosen

    def _check_users(self, chosen: dict[str, tuple[str, int]], *, later: bool) -> None:
        present = self._present(later=later)
        users = Counter(key for task in present for key in keys(task) if self._is_once(key))
        for task, _, _ in self.placed.values():
            assert all(users[key] < 2 for key in keys(task)), "one pod for each claim that can be used once"
        for node in ("n1", "n2"):
            here = [task for task in present if self._node(task) == node]
            names = {name for task in here for key in keys(task) if (name := self._name(key, chosen))}
            before = {
                name
                for task in here
                if task.uid not in self.placed
                for key in keys(task)
                if (name := self._name(key, chosen))
            }
            assert len(names) <= max(MOST, len(before)), "no more volumes than the node can attach"

    def _check_storage(self, chosen: dict[str, tuple[str, int]]) -> None:
        taken: Counter[int] = Counter()
        for key, (volume, row) in chosen.items():
            claim = self.drawn.world.claims[key]
            if claim.storage_class == "tracked" and not volume:
                taken[row] += claim.request >> 30
        assert all(amount <= STORAGE for amount in taken.values()), "no more storage than there is"

    def _check_reached(self, world: StorageWorld, key: str, chosen: dict[str, tuple[str, int]], node: str) -> None:
        claim = world.claims[key]
        name = claim.volume or chosen[key][0]
        if name:
            volume = world.volumes[name]
            assert reaches(volume, world.labels[node])
            assert volume.capacity >= claim.request or claim.bound

    def _present(self, *, later: bool) -> list[Task]:
        staying = [one for one in self.drawn.running if not (later and (is_leaving(one) or one.uid in self.evicted))]
        return [*staying, *(task for task, _, _ in self.placed.values())]

    def _node(self, task: Task) -> str:
        return list(NODES)[self.placed[task.uid][1]] if task.uid in self.placed else task.node

    def _is_once(self, key: str) -> bool:
        return ONCE[0] in self.drawn.world.claims[key].modes

    def _name(self, key: str, chosen: dict[str, tuple[str, int]]) -> str:
        """The volume of a claim as its node counts it; empty where no limit counts it."""
        world = self.drawn.world
        claim = world.claims[key]
        volume = claim.volume or chosen.get(key, ("", 0))[0]
        if volume:
            return world.volumes[volume].handle if world.volumes[volume].driver == CSI else ""
        return f"made for {key}" if claim.storage_class == "csi" else ""


def keys(task: Task) -> list[str]:
    return [] if task.claims is None else [f"ns/{volume.claim}" for volume in task.claims.volumes]


def is_leaving(task: Task) -> bool:
    return task.status.name == "RELEASING"


def reaches(volume: Volume, labels: dict[str, str]) -> bool:
    if volume.affinity is None:
        return True
    return any(all(labels.get(one.key) in one.values for one in term.expressions) for term in volume.affinity)


@given(worlds(), st.data())
def test_steps_never_take_more_than_there_is(drawn: Drawn, data: st.DataObject) -> None:
    session = Session(drawn)
    for _ in range(data.draw(st.integers(1, 8))):
        session.step(data)
        session.check()
        session.picture()


@given(worlds(), st.data())
def test_undoing_steps_leaves_no_trace(drawn: Drawn, data: st.DataObject) -> None:
    session = Session(drawn)
    before = session.picture()
    for _ in range(data.draw(st.integers(0, 3))):
        session.step(data)
    between, mark = session.picture(), len(session.log)
    for _ in range(data.draw(st.integers(1, 6))):
        session.step(data)
    session.undo(mark)
    assert session.picture() == between
    session.undo(0)
    assert session.picture() == before


@given(worlds())
def test_pods_of_one_class_find_the_same_nodes(drawn: Drawn) -> None:
    handler = drawn.world.handler()
    for task in drawn.waiting[1:]:
        if handler.class_of(task) == handler.class_of(drawn.waiting[0]):
            first, second = (ask(drawn.world, one, drawn.world.handler()) for one in (drawn.waiting[0], task))
            assert (first.nodes(), first.reasons(), first.scores()) == (
                second.nodes(),
                second.reasons(),
                second.scores(),
            )


@given(worlds())
def test_scores_are_those_of_the_volumes_that_the_pod_would_get(drawn: Drawn) -> None:
    world = drawn.world
    for task in drawn.waiting:
        classes = [world.claims[key].storage_class for key in keys(task) if not world.claims[key].bound]
        asked = ask(world, task)
        if len(set(classes)) == len(classes):
            for node, score in (asked.scores() or {}).items():
                chosen = ask(world, task).take(node).chosen()
                assert score == expected_score(world, chosen), f"{task.name} on {node}: {chosen}"


def expected_score(world: StorageWorld, chosen: dict[str, str]) -> float:
    """By the formula, for one node: emptier storage is better, the mean over classes is rounded."""
    figures = [
        (world.claims[f"ns/{claim}"].request, world.volumes[volume].capacity)
        for claim, volume in chosen.items()
        if volume != "*"
    ]
    if not figures:
        requests = (world.claims[f"ns/{claim}"] for claim in chosen)
        figures = [(one.request, STORAGE << 30) for one in requests if one.storage_class == "tracked"]
    scores = [100 - 100 * requested // capacity for requested, capacity in figures]
    return int(sum(scores) / len(scores) + 0.5) if scores else 0


@given(worlds(), st.data())
def test_equal_sessions_choose_the_same(drawn: Drawn, data: st.DataObject) -> None:
    session, again = Session(drawn), drawn.world.handler()
    for _ in range(data.draw(st.integers(1, 6))):
        session.step(data)
    for kind, task, row, had in session.log:
        if kind == "take":
            again.take(task, row, later=had)
        elif kind == "withdraw":
            again.withdraw(task, row)
        else:
            again.evict(task, row)
    assert [again.plan(task) for task in drawn.waiting] == [session.handler.plan(task) for task in drawn.waiting]

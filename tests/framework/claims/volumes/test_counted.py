"""What is counted of nodes is kept between sessions, and is the same as if all nodes were counted anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.keeping import memos_keep
from tests.support.storage_world import CSI, StorageWorld
from vsched.framework.claims.volumes.counted import CHANGES_MIN, AttachedRows, CountedVolumes, counted
from vsched.framework.claims.volumes.names import Attachable
from vsched.mirror.state.claims.changes import ChangeLog
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.nodes.table import NodeStatics

OTHER = "other.csi.example.com"
NODES = ("n1", "n2", "n3")


def as_published(before: VolumeCatalogue, after: VolumeCatalogue) -> VolumeCatalogue:
    """The later catalogue, in which everything that did not change is the same object, as the mirror publishes it."""

    def same(name: str) -> Any:
        old, new = getattr(before, name), getattr(after, name)
        return old if old == new else {key: old[key] if old.get(key) == found else found for key, found in new.items()}

    kept = ("by_node", "attachments", "limits", "drivers", "classes")
    return replace(after, **{name: same(name) for name in kept})


def changed_nodes(before: VolumeCatalogue, after: VolumeCatalogue) -> set[str]:
    """The nodes where pods, their claims or attachments changed, as the mirror records them."""
    nodes = {name for name in NODES for each in ("by_node", "attachments") if differs(before, after, each, name)}
    claims = [key for key in after.claims if before.claims.get(key) is not after.claims[key]]
    return nodes.union(task.node for key in claims for task in after.users.get(key, {}).values())


def differs(before: VolumeCatalogue, after: VolumeCatalogue, name: str, key: str) -> bool:
    return getattr(before, name).get(key) is not getattr(after, name).get(key)


def picture(found: CountedVolumes, names: set[Attachable]) -> object:
    """What is counted; ``names`` gets all volumes that ever were attached."""
    names.update(name for node in found.nodes for name in node.names)
    counts = {driver: [part.tolist() for part in count] for driver, count in found.counts.items()}
    rows = {name: sorted(found.rows.of(name)) for name in names if found.rows.of(name)}
    return counts, rows, [dict(node.names) for node in found.nodes]


class World:
    """A world that changes between sessions."""

    def __init__(self) -> None:
        self.storage = StorageWorld(n1="", n2="", n3="").limit(3).storage_class("csi")
        self.number = 0
        self.statics = self.storage.statics()

    def change(self, draw: Any) -> None:
        """One change."""
        storage = self.storage
        self.number += 1
        steps = ["come", "come", "go", "leave", "bind", "attach", "detach", "limit", "arrive", "nodes", "driver"]
        kind = draw(st.sampled_from(steps))
        node, at = draw(st.sampled_from(NODES)), draw(st.integers(0, 5))
        if kind == "come":
            name = f"c{self.number}"
            if draw(st.booleans()):
                storage.bound_csi(name, handle=draw(st.sampled_from(["shared", name])))
            elif draw(st.booleans()):
                storage.claim(name, "csi")
            storage.running(f"r{self.number}", node, name)
        elif kind == "go" and storage.tasks:
            storage.tasks.pop(at % len(storage.tasks))
        elif kind == "leave" and storage.tasks:
            task = storage.tasks[at % len(storage.tasks)]
            name = task.claims.volumes[0].claim if task.claims is not None else ""
            storage.tasks.remove(task)
            storage.running(task.name, task.node, name, leaving=True)
        elif kind == "bind":
            waiting = [claim for claim in storage.claims.values() if not claim.bound]
            if waiting:
                claim = waiting[at % len(waiting)]
                storage.claims[claim.key] = msgspec.structs.replace(claim, bound=True, volume=f"made-{claim.uid}")
        elif kind == "arrive":
            for claim in storage.claims.values():
                if claim.bound and claim.volume not in storage.volumes:
                    storage.volume(claim.volume, "csi", driver=CSI, handle=claim.uid)
        elif kind == "attach":
            storage.attach(node, draw(st.sampled_from([*storage.volumes, "gone"])), draw(st.sampled_from([CSI, OTHER])))
        elif kind == "detach":
            storage.attachments.pop(node, None)
        elif kind == "nodes":
            self._change_nodes(node, add=draw(st.booleans()))
        elif kind == "driver":
            storage.driver(OTHER, required=draw(st.booleans()))
        elif kind == "limit":
            storage.limit(draw(st.sampled_from([None, 1, 5])), node)

    def _change_nodes(self, node: str, *, add: bool) -> None:
        """A node comes or goes; the new statics know what was kept with the old ones."""
        if add:
            self.storage.labels[f"m{self.number}"] = {}
        else:
            self.storage.labels.pop(node, None)
        self.statics = NodeStatics(self.storage.statics().attributes, self.statics.memo)


@given(st.data())
def test_what_is_kept_equals_what_is_counted_anew(data: st.DataObject) -> None:
    world, log, names = World(), ChangeLog(), set[Attachable]()
    recorded = data.draw(st.booleans(), label="the catalogues know what changed")
    catalogue = world.storage.catalogue()
    for _ in range(data.draw(st.integers(1, 8))):
        before = counted(catalogue, world.statics)
        shown = picture(before, names)
        for _ in range(data.draw(st.integers(1, 3), label="catalogues that no session looks at, and one more")):
            for _ in range(data.draw(st.integers(0, 2))):
                world.change(data.draw)
            later = as_published(catalogue, world.storage.catalogue())
            log.add(changed_nodes(catalogue, later))
            catalogue = replace(later, changes=log.publish() if recorded else None)
        anew = picture(counted(catalogue, copy_of(world.statics)), names)
        assert picture(counted(catalogue, world.statics), names) == anew
        assert picture(before, names) == shown, "what a session looks at stays as it is"


@memos_keep()
def test_only_nodes_that_changed_are_read_again() -> None:
    world = StorageWorld(n1="", n2="").limit(3).bound_csi("a").bound_csi("b").bound_csi("c")
    world.running("r1", "n1", "a")
    world.running("r2", "n2", "b")
    statics, catalogue = world.statics(), world.catalogue()
    first = counted(catalogue, statics)
    assert counted(catalogue, statics) is first
    world.running("r3", "n2", "c")
    second = counted(as_published(catalogue, world.catalogue()), statics)
    assert second.nodes[0] is first.nodes[0]
    assert second.counts[CSI].now.tolist() == [1, 2]
    # Also when the attributes of nodes change.
    world.labels["n0"] = {}
    later = NodeStatics(world.statics().attributes, statics.memo)
    third = counted(as_published(catalogue, world.catalogue()), later)
    assert third.nodes[1] is second.nodes[0]
    assert third.counts[CSI].now.tolist() == [0, 1, 2]


def test_only_nodes_that_the_catalogue_names_are_looked_at() -> None:
    world = StorageWorld(n1="", n2="").limit(3).bound_csi("a").bound_csi("b")
    statics, log = world.statics(), ChangeLog()
    first = replace(world.catalogue(), changes=log.publish())
    counted(first, statics)
    world.running("r1", "n1", "a")
    world.running("r2", "n2", "b")
    log.add(["n2"])
    second = replace(as_published(first, world.catalogue()), changes=log.publish())
    assert counted(second, statics).counts[CSI].now.tolist() == [0, 1]
    other = replace(second, changes=ChangeLog().publish())
    assert counted(other, statics).counts[CSI].now.tolist() == [1, 1], "records of another mirror say nothing"


def copy_of(statics: NodeStatics) -> NodeStatics:
    return NodeStatics(statics.attributes)


NAMES = [Attachable("csi", str(number)) for number in range(3 * CHANGES_MIN)]


@given(st.lists(st.lists(st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 3)), max_size=150), max_size=6))
def test_each_copy_keeps_what_it_says(rounds: list[list[tuple[int, int]]]) -> None:
    rows, plain = AttachedRows(), dict[Attachable, set[int]]()
    copies: list[tuple[AttachedRows, dict[Attachable, set[int]]]] = []
    for steps in rounds:
        for number, row in steps:
            name = NAMES[number]
            there = plain.setdefault(name, set())
            (rows.remove if row in there else rows.add)(name, row)
            there ^= {row}
        copies.append((rows, {name: set(found) for name, found in plain.items()}))
        rows = rows.copy()
    for made, expected in copies:
        assert {name: set(made.of(name)) for name in NAMES} == {name: expected.get(name, set()) for name in NAMES}

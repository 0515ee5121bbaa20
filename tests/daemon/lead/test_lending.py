"""Loans of nodes between shards: no node is ever used by two, and nodes go where they are wanted, and back."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.examples import examples, seeds
from vsched.daemon.lead.lending import (
    ASKS,
    ASKS_MAX,
    BACK,
    KEPT_SECONDS,
    LENT,
    NO_NOTES,
    Lending,
    Loan,
    Notes,
    Sight,
    annotations_of,
    notes_of,
)

NODES = {f"n{number}": number % 2 for number in range(4)}
"""The shards that nodes belong to."""


class Daemon:
    """A daemon with some of the shards: what it sees of the others is late, and so is what it writes."""

    def __init__(self, world: World, *shards: int) -> None:
        self.world = world
        self.wanted: set[str] = set()
        self.begin()
        for shard in shards:
            self.adopt(shard)

    def begin(self) -> None:
        """A new process, which has no shard and knows nothing."""
        self.lending = Lending(NODES.get)
        self.held: set[int] = set()
        self.seen: dict[int, int] = {}
        """By shard of others, which version of its Lease was seen last, since a shard became ours."""
        self.seen_version = -1
        self.uses: set[str] = set()
        self.binding: set[str] = set()
        """Nodes with bindings on their way, which nobody else can see."""
        self.unseen: set[str] = set()
        """Nodes with pods of others that our watch has not shown."""
        self.unsaid: set[int] = set()
        self.leaving: tuple[int, set[str]] | None = None
        """The shard that is being given away, and the nodes that whoever gets it may use."""

    def adopt(self, shard: int) -> None:
        """Go on from what the Lease says, and from all pods that there are by now."""
        self.held.add(shard)
        self.lending.adopt(shard, self.world.leases[shard][-1])
        self.seen.clear()
        self.unseen.clear()

    def usable(self) -> set[str]:
        own = {node for node, shard in NODES.items() if shard in self.held}
        return own - self.lending.barred() | self.lending.borrowed()

    def session(self, draw: Random) -> None:
        """Decide on the nodes that may be used now; some of the bindings are on their way for long."""
        self.uses, self.seen_version = self.usable(), self.lending.version
        assert not self.uses & self.unseen, "pods there are not known"
        self.binding |= {node for node in self.uses & self.wanted if draw.random() < 0.5}

    def look(self) -> None:
        leases = self.world.leases
        sight = Sight(
            self.world.now,
            int(self.world.now * 1000),
            {shard: leases[shard][at] for shard, at in self.seen.items()},
            {shard: leases[shard][-1] for shard in self.held},
            self.wanted,
            lambda: self.binding,
            self.seen_version,
        )
        self.unsaid |= self.lending.look(sight)
        for node, number in self.lending.unchecked().items():
            if node not in self.unseen:
                self.lending.check(node, number)

    def see(self, shard: int, version: int) -> None:
        """Read the Lease of another daemon's shard, which had this version at that time or a later one."""
        if shard not in self.held and (self.leaving is None or shard != self.leaving[0]):
            self.seen[shard] = max(version, self.seen.get(shard, 0))

    def confirm(self, nodes: set[str]) -> None:
        """Bindings on these nodes have arrived, and our watch shows it; those of others are later."""
        for other in self.world.daemons:
            if other is not self:
                other.unseen |= self.binding & nodes
        self.binding -= nodes

    def say(self) -> None:
        for shard in self.unsaid & self.held:
            notes = annotations_of(self.lending.notes(shard))
            self.world.leases[shard].append(notes_of({k: v for k, v in notes.items() if v is not None}))
        self.unsaid.clear()

    def give(self, shard: int) -> None:
        """Begin to give a shard away: the next session decides nothing for it."""
        self.leaving = shard, {node for node, of in NODES.items() if of == shard} | self.lending.loans_of(shard)
        self.held.discard(shard)
        self.lending.leave(shard)


class World:
    def __init__(self) -> None:
        self.now = 1000.0
        self.leases: dict[int, list[Notes]] = {shard: [NO_NOTES] for shard in range(2)}
        self.daemons: list[Daemon] = []
        self.daemons = [Daemon(self, 0), Daemon(self, 1), Daemon(self)]

    def check(self) -> None:
        for number, one in enumerate(self.daemons):
            for other in self.daemons[number + 1 :]:
                assert not (one.uses | one.binding) & (other.uses | other.binding), "two use a node"

    def another(self, one: Daemon, draw: Random) -> Daemon:
        return draw.choice([each for each in self.daemons if each is not one])

    def die(self, one: Daemon, draw: Random) -> None:
        """A daemon is killed; what was on its way has arrived before another one gets its shards."""
        shards = {*one.held, *(() if one.leaving is None else one.leaving[:1])}
        one.begin()
        for shard in sorted(shards):
            self.another(one, draw).adopt(shard)

    def give(self, one: Daemon, draw: Random) -> None:
        """A daemon with both shards gives one away, once nothing is decided for it, and nothing on its way there."""
        if one.leaving is None:
            if len(one.held) == 2:
                one.give(draw.randrange(2))
            return
        shard, nodes = one.leaving
        if not (one.uses | one.binding) & nodes:
            one.leaving = None
            self.another(one, draw).adopt(shard)

    def settle(self, rounds: int = 12, *, shown: bool = True) -> None:
        """Everybody gets to know everything; of pods only where ``shown``."""
        for _ in range(rounds):
            self.now += 1.0
            for one in self.daemons:
                one.say()
            for one in self.daemons:
                for shard, found in self.leases.items():
                    one.see(shard, len(found) - 1)
                one.confirm(set(NODES))
                if shown:
                    one.unseen.clear()
                one.look()
                one.session(Random(0))
                one.confirm(set(NODES))
            self.check()


STEPS = {
    "look": 8, "session": 3, "say": 8, "see": 8, "bound": 4, "shown": 1, "want": 2, "die": 1, "give": 2, "wait": 3,
}  # fmt: skip
"""What happens next, by how often."""


@pytest.mark.parametrize("seed", seeds(examples(100), "lending"))
def test_whatever_is_late_no_node_is_used_by_two_and_in_the_end_all_have_what_they_want(seed: int) -> None:
    world, draw = World(), Random(seed)
    for _ in range(300):
        one, step = draw.choice(world.daemons), draw.choices([*STEPS], [*STEPS.values()])[0]
        if step == "session":
            one.session(draw)
        elif step == "see":
            shard = draw.randrange(2)
            last = len(world.leases[shard]) - 1
            one.see(shard, draw.randint(one.seen.get(shard, last), last))
        elif step == "bound":
            one.confirm({node for node in NODES if draw.random() < 0.5})
        elif step == "shown":
            one.unseen = {node for node in one.unseen if draw.random() < 0.5}
        elif step == "want":
            one.wanted = {node for node in NODES if draw.random() < 0.4}
        elif step == "die":
            world.die(one, draw)
        elif step == "give":
            world.give(one, draw)
        elif step == "wait":
            world.now += draw.choice((0.1, 1.0, KEPT_SECONDS))
        elif step == "look":
            one.look()
        else:
            one.say()
        world.check()
    for one in world.daemons:
        one.wanted.clear()
        one.confirm(set(NODES))
        one.session(draw)
        if one.leaving is not None:
            world.give(one, draw)
    assert {shard for one in world.daemons for shard in one.held} == {0, 1}
    world.settle(40)
    assert [one.usable() for one in world.daemons] == [
        {node for node, shard in NODES.items() if shard in one.held} for one in world.daemons
    ]
    first = next(one for one in world.daemons if one.held)
    first.wanted = {*NODES} - {"n3"}
    world.settle()
    assert first.wanted <= first.usable()


def test_what_the_owner_wants_itself_stays_until_it_does_not() -> None:
    world = World()
    borrower, owner = world.daemons[0], world.daemons[1]
    borrower.wanted, owner.wanted = {"n1", "n3"}, {"n1"}
    world.settle()
    assert borrower.usable() == {"n0", "n2", "n3"}
    owner.wanted = set()
    world.settle()
    assert borrower.usable() == {"n0", "n1", "n2", "n3"}


def lent() -> tuple[World, Daemon, Daemon]:
    """A node of the second daemon that the first one uses."""
    world = World()
    borrower, owner, _ = world.daemons
    borrower.wanted = {"n1"}
    world.settle()
    assert ("n1" in borrower.uses, "n1" in owner.uses) == (True, False)
    return world, borrower, owner


def test_a_node_that_comes_back_is_used_once_its_pods_are_known() -> None:
    world, borrower, owner = lent()
    borrower.binding = {"n1"}
    borrower.confirm({"n1"})
    borrower.wanted = set()
    world.settle(30, shown=False)
    assert ("n1" in borrower.usable(), "n1" in owner.usable()) == (False, False)
    world.settle(2)
    assert "n1" in owner.usable()


def test_a_node_goes_back_only_after_a_session_without_it_and_once_its_bindings_are_there() -> None:
    world, borrower, owner = lent()
    borrower.wanted = set()
    world.now += KEPT_SECONDS

    def round_of_the_owner() -> bool:
        borrower.say()
        for shard, found in world.leases.items():
            owner.see(shard, len(found) - 1)
        for _ in range(3):
            owner.look()
            owner.say()
            owner.session(Random(0))
        return "n1" in owner.uses

    for _ in range(3):
        borrower.look()  # its session goes on with the node
    assert not round_of_the_owner()
    borrower.session(Random(0))
    borrower.binding = {"n1"}
    borrower.look()
    assert not round_of_the_owner()
    borrower.binding = set()
    borrower.look()
    assert round_of_the_owner()


def test_loans_end_where_both_shards_are_one_daemons() -> None:
    world = World()
    borrower, owner = world.daemons[0], world.daemons[1]
    borrower.wanted = {"n1"}
    world.settle()
    assert "n1" in borrower.usable()
    owner.lending.adopt(0, world.leases[0][-1])
    assert "n1" not in owner.lending.barred()
    owner.lending.leave(0)
    assert "n1" in owner.lending.barred()


def test_a_daemon_borrows_only_so_many() -> None:
    nodes = {f"n{number:04}": 1 for number in range(ASKS_MAX + 10)}
    lending = Lending(nodes.get)
    lending.adopt(0, NO_NOTES)
    lending.look(Sight(0.0, 5, {1: NO_NOTES}, {}, nodes, set, 0))
    asks = lending.notes(0).asks
    assert len(asks) == ASKS_MAX
    assert len(set(asks.values())) == ASKS_MAX, "every ask has a number of its own"
    assert min(asks.values()) == 5


@pytest.mark.parametrize(
    ("annotations", "notes"),
    [
        ({}, NO_NOTES),
        ({ASKS: '{"n1":7}', LENT: '{"n2":[1,8]}'}, Notes({"n1": 7}, {"n2": Loan(1, 8)})),
        ({ASKS: "{", LENT: '{"n2":[1]}'}, NO_NOTES),
        ({ASKS: "[]", LENT: "null"}, NO_NOTES),
    ],
)
def test_notes_are_read_from_annotations(annotations: dict[str, str], notes: Notes) -> None:
    assert notes_of(annotations) == notes
    written = {key: value for key, value in annotations_of(notes).items() if value is not None}
    assert notes_of(written) == notes
    assert BACK < 0

"""Who leads, against the embedded cluster: real requests, and clocks that move when they are told to."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import pytest
from aiohttp import web

from tests.kube.conftest import Eventually
from tests.kube.stub_server import StubServer, silence
from tests.support.examples import LEAST, seeds
from tests.support.fault_proxy import FaultProxy, faulty
from vsched.clock import FakeClock
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.lease.candidate import CandidateState, Elector, LeaseLost, Role, WakefulClock
from vsched.kube.lease.record import LeaseSettings
from vsched.kube.words import leases as words
from vsched.sim.cluster import Cluster, ClusterSettings

SETTINGS = LeaseSettings(namespace="kube-system")
OFTEN = LeaseSettings(namespace="kube-system", retry_seconds=0.05)
HASTY = LeaseSettings(namespace="kube-system", duration_seconds=1, renew_deadline_seconds=0.4, retry_seconds=0.1)
ONCE = ClientSettings(attempts=1)
LEASES = "coordination.k8s.io/leases"
TURNED_OFF = Connection("http://127.0.0.1:1")

Obj = dict[str, Any]


class World:
    """One API server, and candidates whose clocks agree on how fast time goes and on nothing else."""

    def __init__(self, cluster: Cluster, client: ApiClient) -> None:
        self.cluster = cluster
        self.client = client
        self.time = 0.0
        self.clocks: list[FakeClock] = []
        self.candidates: list[Elector] = []
        self.holders: list[str] = []
        """Who held the lease, in order."""

    def candidate(self, name: str, skew_seconds: float = 0.0, settings: LeaseSettings = SETTINGS) -> Elector:
        clock = FakeClock(1_700_000_000.0 + self.time + skew_seconds, 1000.0 * (1 + len(self.clocks)) + self.time)
        self.clocks.append(clock)
        made = Elector(settings, name, clock=clock, told=self._told, source=Random(len(self.clocks)))
        self.candidates.append(made)
        return made

    def pass_time(self, seconds: float) -> None:
        """Let time pass for everybody, in small steps, none of which a float rounds."""
        seconds = math.ceil(seconds * 1024) / 1024
        while seconds > 0:
            step = min(0.25, seconds)
            seconds -= step
            self.time += step
            for clock in self.clocks:
                clock.advance(step)
            self.check()

    def check(self) -> None:
        """At no moment do two hold the lease."""
        holding = [candidate.identity for candidate in self.candidates if candidate.holds()]
        assert len(holding) <= 1, f"at {self.time}: {holding}"
        if holding and self.holders[-1:] != holding:
            self.holders += holding

    async def until_it_leads(self, candidate: Elector) -> None:
        """Turns of one candidate at the times it asks for, until it leads; gives up after some."""
        for _ in range(60):
            wait_seconds = await candidate.turn(self.client)
            if candidate.leading.is_set():
                return
            self.pass_time(wait_seconds)
        raise AssertionError(f"{candidate.identity} does not lead at {self.time}: {candidate.standing}")

    def _told(self, _: CandidateState) -> None:
        self.check()

    def lease(self) -> Obj:
        found = self.cluster.client.get(LEASES, "kube-system", "vsched")
        assert found is not None
        return found

    @property
    def spec(self) -> Obj:
        spec: Obj = self.lease()["spec"]
        return spec

    def edit(self, change: Callable[[Obj], Obj]) -> None:
        self.cluster.client.patch(LEASES, "kube-system", "vsched", change)

    def delete(self) -> None:
        self.cluster.client.delete(LEASES, "kube-system", "vsched")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with (
        Cluster(settings=ClusterSettings(controllers=None)) as cluster,
        ApiClient(Connection(cluster.url), ONCE) as client,
    ):
        yield World(cluster, client)


@pytest.fixture
async def nowhere() -> AsyncIterator[ApiClient]:
    """A client of a server that is not there."""
    async with ApiClient(TURNED_OFF, ONCE) as client:
        yield client


async def test_the_first_candidate_makes_the_lease_and_leads(world: World) -> None:
    first, second = world.candidate("first"), world.candidate("second")
    await first.turn(world.client)
    await second.turn(world.client)
    assert first.holds()
    assert first.leading.is_set()
    assert not second.leading.is_set()
    assert world.spec == {
        "holderIdentity": "first",
        "leaseDurationSeconds": 15,
        "acquireTime": "2023-11-14T22:13:20.000000Z",
        "renewTime": "2023-11-14T22:13:20.000000Z",
        "leaseTransitions": 0,
    }
    assert first.standing == CandidateState(Role.LEADER, "first")
    assert second.standing == CandidateState(Role.STANDBY, "first")


async def test_renewals_keep_the_lease_for_as_long_as_they_come(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    for _ in range(40):
        wait_seconds = await leader.turn(world.client)
        assert 1.5 <= wait_seconds <= 2.0
        await standby.turn(world.client)
        world.pass_time(wait_seconds)
    assert world.time > 3 * 15
    assert world.holders == ["leader"]
    assert world.spec["acquireTime"] == "2023-11-14T22:13:20.000000Z" < world.spec["renewTime"]


@pytest.mark.parametrize(
    "skew_seconds",
    [
        pytest.param(0.0, id="clocks-agree"),
        pytest.param(86_400.0, id="the-standby-is-a-day-ahead"),
        pytest.param(-86_400.0, id="the-standby-is-a-day-behind"),
    ],
)
async def test_a_standby_takes_over_when_it_saw_no_sign_for_the_duration(world: World, skew_seconds: float) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby", skew_seconds)
    await leader.turn(world.client)
    wait_seconds = await standby.turn(world.client)
    world.pass_time(1.0)
    await leader.turn(world.client)  # its last sign of life
    silent_since = world.time
    world.pass_time(wait_seconds - 1.0)
    await world.until_it_leads(standby)
    assert silent_since + 15 <= world.time <= silent_since + 15 + 2
    assert world.holders == ["leader", "standby"]
    assert world.spec["leaseTransitions"] == 1
    with pytest.raises(LeaseLost, match=r"lease kube-system/vsched is lost: not renewed for \d+\.\d s$"):
        await leader.turn(world.client)


async def test_a_lease_says_itself_how_long_it_holds(world: World) -> None:
    patient = LeaseSettings(namespace="kube-system", duration_seconds=60)
    leader, standby = world.candidate("leader", settings=patient), world.candidate("standby")
    await leader.turn(world.client)
    await standby.turn(world.client)
    world.pass_time(59.5)
    await standby.turn(world.client)
    assert not standby.leading.is_set()
    world.pass_time(0.5)
    await standby.turn(world.client)
    assert standby.holds()


async def test_a_released_lease_is_taken_at_the_next_look(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    await leader.turn(world.client)
    await standby.turn(world.client)
    assert await leader.release(world.client)
    assert not leader.holds()
    assert world.spec["holderIdentity"] == ""
    assert world.spec["leaseDurationSeconds"] == 1
    await standby.turn(world.client)
    assert standby.holds()
    assert world.spec["holderIdentity"] == "standby"
    assert not await leader.release(world.client)
    assert world.spec["holderIdentity"] == "standby"


async def test_a_lease_that_is_given_back_is_kept_for_whoever_asked_for_it(world: World) -> None:
    holder, other, asker = (world.candidate(name) for name in ("holder", "other", "asker"))
    await world.until_it_leads(holder)
    await other.turn(world.client)
    await asker.ask(world.client)
    await other.ask(world.client)  # too late: somebody has asked
    assert holder.preferred == ""
    world.pass_time(2)
    await holder.turn(world.client)  # a renewal that finds another version is tried again
    assert (holder.preferred, holder.holds()) == ("asker", True)
    await holder.release(world.client)
    await other.turn(world.client)
    assert not other.leading.is_set()
    await world.until_it_leads(asker)
    assert "annotations" not in world.lease()["metadata"] or not world.lease()["metadata"]["annotations"]
    assert world.holders == ["holder", "asker"]


async def test_a_free_lease_is_kept_for_nobody_for_ever(world: World) -> None:
    holder, other, asker = (world.candidate(name) for name in ("holder", "other", "asker"))
    await world.until_it_leads(holder)
    await asker.ask(world.client)
    world.pass_time(2)
    await holder.turn(world.client)
    await holder.release(world.client)
    await other.turn(world.client)
    world.pass_time(SETTINGS.duration_seconds - 1)
    await other.turn(world.client)
    assert not other.leading.is_set()
    world.pass_time(2)
    await other.turn(world.client)
    assert other.holds()


async def test_whoever_asked_in_vain_for_a_whole_term_has_to_ask_again(world: World) -> None:
    holder, asker = world.candidate("holder"), world.candidate("asker")
    await world.until_it_leads(holder)
    holder.notes["example.com/note"] = "kept"
    await asker.ask(world.client)
    for _ in range(9):
        world.pass_time(2)
        await holder.turn(world.client)
    assert holder.preferred == ""
    assert world.lease()["metadata"]["annotations"] == {"example.com/note": "kept"}
    await holder.ask(world.client)
    assert holder.preferred == "", "nobody asks itself"


async def test_a_lease_that_was_not_renewed_in_time_is_not_released(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    await leader.turn(world.client)
    await standby.turn(world.client)
    world.pass_time(15.0)
    await standby.turn(world.client)
    assert not await leader.release(world.client)
    assert world.spec["holderIdentity"] == "standby"


async def test_a_lease_that_somebody_else_took_is_not_released(world: World) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    world.edit(lambda lease: {**lease, "spec": {**lease["spec"], "holderIdentity": "thief"}})
    assert leader.holds()
    assert not await leader.release(world.client)
    assert world.spec["holderIdentity"] == "thief"


async def test_a_release_goes_through_over_a_renewal_whose_answer_was_lost(world: World) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    world.pass_time(2.0)
    async with faulty(world.cluster.url) as proxy, ApiClient(Connection(proxy.url), ONCE) as client:
        proxy.spoil("PUT", ".*", 0)
        proxy.spoil("PUT", ".*", 503)  # the client's library repeats a PUT whose connection broke
        await leader.turn(client)
        assert "injected" in leader.standing.problem
        assert world.spec["renewTime"] == "2023-11-14T22:13:22.000000Z"
        assert await leader.release(client)
    assert world.spec["holderIdentity"] == ""


async def test_an_outage_shorter_than_the_deadline_changes_nothing(world: World, nowhere: ApiClient) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    while world.time < 8.0:
        world.pass_time(await leader.turn(nowhere))
        assert leader.holds()
    assert "Cannot connect" in leader.standing.problem
    assert leader.failures >= 3
    await leader.turn(world.client)
    assert leader.standing == CandidateState(Role.LEADER, "leader")
    world.pass_time(9.5)
    assert leader.holds()


async def test_an_outage_beyond_the_deadline_ends_leadership_before_anybody_else_can_begin(
    world: World, nowhere: ApiClient
) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    while world.time < 10.0:
        world.pass_time(await leader.turn(nowhere))
    with pytest.raises(LeaseLost, match=r"is lost: not renewed for 10\.0 s: .*Cannot connect"):
        await leader.turn(nowhere)
    assert world.time == pytest.approx(10.0, abs=0.01)
    assert not leader.leading.is_set()
    assert not leader.holds()
    assert leader.standing.role is Role.LOST


async def test_a_leader_whose_renewal_is_stuck_acts_until_the_deadline_so_that_what_it_sent_arrives_in_its_term(
    world: World, server: StubServer, eventually: Eventually
) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    world.pass_time(2.0)
    server.script("list", silence)
    async with ApiClient(Connection(server.url), ONCE) as deaf:
        stuck = asyncio.create_task(leader.turn(deaf))
        await eventually(lambda: server.seen)
        world.pass_time(7.75)
        assert leader.holds()
        world.pass_time(0.25)
        assert not leader.holds()
        world.pass_time(5.0)
        assert not stuck.done()
        stuck.cancel()
        await asyncio.wait((stuck,))
    with pytest.raises(LeaseLost):
        await leader.turn(world.client)


async def test_a_request_that_nobody_answers_is_given_up_in_time_for_another(server: StubServer) -> None:
    candidate = Elector(HASTY, "me")
    server.script("list", silence)
    async with ApiClient(Connection(server.url), ONCE) as deaf:
        await asyncio.wait_for(candidate.turn(deaf), 60.0)
    assert candidate.standing.problem == words.NO_ANSWER


async def test_a_leader_that_was_held_up_beyond_the_deadline_may_still_renew(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    await leader.turn(world.client)
    await standby.turn(world.client)
    world.pass_time(14.0)
    await leader.turn(world.client)
    world.pass_time(1.0)
    await standby.turn(world.client)
    assert leader.holds()
    assert world.holders == ["leader"]


async def test_a_leader_counts_from_when_its_renewal_set_out(world: World) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    async with faulty(world.cluster.url) as proxy, ApiClient(Connection(proxy.url), ONCE) as client:
        proxy.on_request = lambda method, path: world.pass_time(3.0)
        await leader.turn(client)
    world.pass_time(6.75)
    assert leader.holds()
    world.pass_time(0.25)
    assert not leader.holds()


async def test_a_standby_counts_from_when_it_had_the_answer(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    await leader.turn(world.client)
    async with faulty(world.cluster.url) as proxy, ApiClient(Connection(proxy.url), ONCE) as client:
        proxy.on_request = lambda method, path: world.pass_time(3.0)
        await standby.turn(client)
    await world.until_it_leads(standby)
    assert 3.0 + 15.0 <= world.time <= 3.0 + 15.0 + 2.0


async def test_an_answer_that_comes_after_its_time_proves_nothing(world: World) -> None:
    late = world.candidate("late")
    async with faulty(world.cluster.url) as proxy, ApiClient(Connection(proxy.url), ONCE) as client:
        proxy.on_request = lambda method, path: world.pass_time(15.0 if method == "POST" else 0.0)
        await late.turn(client)
        assert not late.leading.is_set()
        assert world.spec["holderIdentity"] == "late"
        await late.turn(client)
        assert late.holds()


async def test_of_candidates_in_a_race_one_wins_and_the_others_stand_by(world: World) -> None:
    candidates = [world.candidate(f"c{number}") for number in range(5)]
    for _ in range(8):
        waiting = [one for one in candidates if one.standing.role is Role.STANDBY]
        await asyncio.gather(*(one.turn(world.client) for one in waiting))
        leading = [one for one in candidates if one.holds()]
        assert len(leading) == 1
        assert sum(one.failures for one in candidates) == 0
        assert await leading[0].release(world.client)
        candidates.remove(leading[0])
        candidates.append(world.candidate(f"{leading[0].identity}'"))
    assert len(world.holders) == 8


async def test_a_deleted_lease_is_made_again_by_its_holder(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    await leader.turn(world.client)
    await standby.turn(world.client)
    world.delete()
    await standby.turn(world.client)
    assert not standby.leading.is_set()
    await leader.turn(world.client)
    assert leader.holds()
    assert world.spec["holderIdentity"] == "leader"


async def test_a_deleted_lease_whose_holder_is_gone_is_made_again_by_a_standby_in_time(world: World) -> None:
    leader, standby = world.candidate("leader"), world.candidate("standby")
    await leader.turn(world.client)
    await standby.turn(world.client)
    world.delete()
    await world.until_it_leads(standby)
    assert 15.0 <= world.time <= 17.0
    assert world.spec["holderIdentity"] == "standby"


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        pytest.param(None, 0.0, id="no-spec"),
        pytest.param({}, 0.0, id="nothing-in-it"),
        pytest.param({"holderIdentity": ""}, 0.0, id="nobody"),
        pytest.param({"holderIdentity": "old"}, 15.0, id="no-duration-so-ours"),
        pytest.param({"holderIdentity": "old", "leaseDurationSeconds": 4}, 4.0, id="no-times"),
        pytest.param(
            {"holderIdentity": "old", "leaseDurationSeconds": 4, "renewTime": "2199-01-01T00:00:00.000000Z"},
            4.0,
            id="renewed-in-the-far-future",
        ),
    ],
)
async def test_a_lease_that_somebody_left_there_is_taken_over(world: World, spec: Obj | None, seconds: float) -> None:
    metadata = {"name": "vsched", "namespace": "kube-system", "labels": {"kept": "yes"}}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    world.cluster.client.create(LEASES, lease if spec is None else {**lease, "spec": spec})
    candidate = world.candidate("new")
    await world.until_it_leads(candidate)
    assert world.time == pytest.approx(seconds, abs=0.01)
    assert world.spec["holderIdentity"] == "new"
    assert world.lease()["metadata"]["labels"] == {"kept": "yes"}


async def test_a_foreign_mark_on_the_lease_disturbs_nobody(world: World) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    world.edit(lambda lease: {**lease, "metadata": {**lease["metadata"], "labels": {"by": "somebody"}}})
    world.pass_time(2.0)
    await leader.turn(world.client)
    assert leader.standing == CandidateState(Role.LEADER, "leader")
    assert world.lease()["metadata"]["labels"] == {"by": "somebody"}
    assert world.spec["renewTime"] == "2023-11-14T22:13:22.000000Z"


@pytest.mark.parametrize(
    ("holder", "said"),
    [
        pytest.param("thief", "is lost: taken by thief", id="by-name"),
        pytest.param("", "is lost: " + words.TAKEN_BACK, id="by-nobody"),
    ],
)
async def test_a_lease_in_another_name_is_lost_at_the_next_renewal(world: World, holder: str, said: str) -> None:
    leader = world.candidate("leader")
    await leader.turn(world.client)
    world.edit(lambda lease: {**lease, "spec": {**lease["spec"], "holderIdentity": holder}})
    with pytest.raises(LeaseLost, match=said):
        await leader.turn(world.client)
    assert not leader.holds()
    assert world.spec["holderIdentity"] == holder


async def test_a_lost_answer_to_the_first_claim_is_made_good_at_the_next_look(world: World) -> None:
    candidate = world.candidate("me")
    async with faulty(world.cluster.url) as proxy, ApiClient(Connection(proxy.url), ONCE) as client:
        proxy.spoil("POST", ".*", 0)
        await candidate.turn(client)
        assert not candidate.leading.is_set()
        assert world.spec["holderIdentity"] == "me"
        await candidate.turn(client)
    assert candidate.holds()
    assert world.spec["leaseTransitions"] == 0


async def test_what_keeps_a_candidate_from_the_lease_is_told_once(world: World) -> None:
    standings: list[CandidateState] = []
    clock = FakeClock()
    lost = Elector(LeaseSettings(namespace="nowhere"), "me", clock=clock, told=standings.append)
    for _ in range(3):
        assert 1.5 <= await lost.turn(world.client) <= 2.0
    assert lost.failures == 3
    assert len(standings) == 1
    assert 'namespaces "nowhere" not found' in standings[0].problem


async def test_candidates_hand_over_by_themselves(world: World) -> None:
    one, two = (Elector(OFTEN) for _ in range(2))
    assert one.identity != two.identity
    tasks = {one: asyncio.create_task(one.run(world.client)), two: asyncio.create_task(two.run(world.client))}
    try:
        async with asyncio.timeout(60.0):
            first, *_ = await asyncio.wait(
                [asyncio.create_task(each.leading.wait()) for each in (one, two)], return_when=asyncio.FIRST_COMPLETED
            )
            assert len(first) == 1
            leader, standby = (one, two) if one.holds() else (two, one)
            assert not standby.leading.is_set()
            tasks[leader].cancel()
            assert await leader.release(world.client)
            await standby.leading.wait()
        assert standby.holds()
        assert world.spec["holderIdentity"] == standby.identity
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.wait(tasks.values())


def test_the_clock_of_leases_does_not_go_back() -> None:
    clock = WakefulClock()
    assert clock.monotonic() <= clock.monotonic()


# -- many candidates, and everything that can go wrong


class SlowProxy(FaultProxy):
    """A way to the API server on which time passes, there and back."""

    def __init__(self, world: World, random: Random, seconds: float = 3.0) -> None:
        super().__init__(world.cluster.url)
        self._world = world
        self._random = random
        self.seconds = seconds

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self._world.pass_time(self._random.choice((0.0, 0.5, 1.0)) * self.seconds)
        answer = await super()._answer(request)
        self._world.pass_time(self._random.choice((0.0, 0.5, 1.0)) * self.seconds)
        return answer


@contextlib.asynccontextmanager
async def slow(world: World, random: Random) -> AsyncIterator[SlowProxy]:
    proxy = SlowProxy(world, random)
    await proxy.up()
    try:
        yield proxy
    finally:
        await proxy.end()


class Chaos:
    """Candidates that are slow, cut off, paused, stopped and started again, as a seed says."""

    def __init__(self, world: World, client: ApiClient, nowhere: ApiClient, proxy: SlowProxy, random: Random) -> None:
        self.world = world
        self.client = client
        self.nowhere = nowhere
        self.proxy = proxy
        self.random = random
        self.due: dict[Elector, float] = {}
        self.lost = 0

    def start(self) -> None:
        fresh = self.world.candidate(f"c{len(self.world.candidates)}", self.random.uniform(-1e6, 1e6))
        self.due[fresh] = self.world.time

    async def step(self) -> None:
        """The next turns: of everybody whose time has come, at once."""
        first = min(self.due.values())
        self.world.pass_time(max(0.0, first - self.world.time))
        if self.random.random() < 0.15:
            self.proxy.spoil(self.random.choice(("PUT", "GET", "POST")), ".*", self.random.choice((0, 500, 409)))
        at_once = self.random.choice((0.0, 1.0, 5.0))
        await asyncio.gather(*(self.turn(each) for each, due in list(self.due.items()) if due <= first + at_once))

    async def turn(self, candidate: Elector) -> None:
        del self.due[candidate]
        client = self.nowhere if self.random.random() < 0.2 else self.client
        try:
            if candidate.leading.is_set() and self.random.random() < 0.05:
                await candidate.release(client)
                raise LeaseLost("released")
            wait_seconds = await candidate.turn(client)
        except LeaseLost:
            self.lost += 1
            self.start()
        else:
            paused_seconds = 30.0 * self.random.random() if self.random.random() < 0.1 else 0.0
            self.due[candidate] = self.world.time + wait_seconds + paused_seconds


@pytest.mark.parametrize("seed", seeds(LEAST, "leases"))
async def test_whatever_happens_two_never_hold_the_lease_and_in_the_end_one_does(
    world: World, nowhere: ApiClient, seed: int
) -> None:
    random = Random(seed)
    async with slow(world, random) as proxy, ApiClient(Connection(proxy.url), ONCE) as client:
        chaos = Chaos(world, client, nowhere, proxy, random)
        for _ in range(5):
            chaos.start()
        for _ in range(60):
            await chaos.step()
        assert chaos.lost
        assert len(set(world.holders)) > 1
        proxy.mend()
        proxy.seconds = 0.0
        ends = world.time + 15 + 2
        while world.time <= ends and not any(each.holds() for each in chaos.due):
            for each in chaos.due:
                with contextlib.suppress(LeaseLost):
                    await each.turn(client)
            world.pass_time(1.0)
        assert any(each.holds() for each in chaos.due)

"""Shares of queues, starts against the candidate and evictions are worked out a second time, of random courses."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.daemon.shadow.stage import BOUNDS, CPU, Seen, Stage, stage
from tests.support.examples import seeds
from tests.support.owners import queue
from tests.support.shadowing import volcanos
from tests.support.waiting import until
from vsched.daemon.shadow.segments import logged
from vsched.shadow.summary import Comparing, summed

NODES = 2
CAPABILITY = {"a": 4, "b": NODES * CPU}
POLICY = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}]
"""
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def gang_of(pod: str) -> str:
    return pod.split("-")[0]


def queue_of(gang: str) -> str:
    return gang[0]


class Course(NamedTuple):
    """What the event log and the shadow's decisions say."""

    shares: dict[str, tuple[float, float, float]]
    """By queue: seconds, the share times seconds, and seconds in which it was short."""
    waits_here: list[tuple[str, float]]
    would_evict: list[tuple[str, str, float, int]]
    evictions: dict[str, int]
    """How many there were, in vain or not, whose time is over."""


def share_of(now: Seen, name: str) -> tuple[float, bool] | None:
    """The share of what a queue deserves that it holds, and whether it is short; None where it asks for nothing."""
    asked = Counter(queue_of(pod) for pod in now.pods)
    held = Counter(queue_of(pod) for pod in now.nodes)
    limits = {one: min(asked[one], most) for one, most in CAPABILITY.items()}
    (other,) = CAPABILITY.keys() - {name}
    deserved = min(limits[name], max(NODES * CPU / 2, NODES * CPU - limits[other]))
    if not deserved:
        return None
    return held[name] / deserved, held[name] < min(asked[name], deserved)


def shares(seen: list[Seen]) -> dict[str, tuple[float, float, float]]:
    found: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for before, now in pairwise(seen):
        seconds = now.at - before.at
        for name in CAPABILITY:
            share = share_of(before, name)
            if share is not None and seconds <= BOUNDS.gap_seconds:
                for at, rate in enumerate((1.0, share[0], share[1])):
                    found[name][at] += rate * seconds
    return {name: (one[0], one[1], one[2]) for name, one in found.items()}


def waits_here(seen: list[Seen], minima: dict[str, int]) -> list[tuple[str, float]]:
    """Gangs that waited complete with their room there, had not been decided, and started nevertheless."""
    found, decided = list[tuple[str, float]](), set[str]()
    for before, now in pairwise(seen):
        held, asked = Counter(map(gang_of, before.nodes)), Counter(map(gang_of, before.pods))
        binds = Counter(gang_of(bind.name) for bind in before.binds)
        used = Counter(before.nodes.values())
        for job, minimum in minima.items():
            waited = held[job] < minimum and asked[job] > held[job]
            decided -= set() if waited else {job}
            decided |= {job} if waited and held[job] + binds[job] >= minimum else set()
            came = {pod: node for pod, node in now.nodes.items() if gang_of(pod) == job and pod not in before.nodes}
            there = sum(gang_of(pod) == job for pod in now.nodes)
            had_room = all(used[node] + more <= CPU for node, more in Counter(came.values()).items())
            all_there = sum(gang_of(pod) == job for pod in now.pods) <= asked[job]
            if waited and came and there >= minimum and job not in decided and before.codes.get(job):
                found += [(f"default/{job}", now.at)] if had_room and all_there else []
    return found


def would_evict(seen: list[Seen]) -> list[tuple[str, str, float, int]]:
    found, last = list[tuple[str, str, float, int]](), dict[tuple[str, str], float]()
    for now in seen:
        for (job, beneficiary), pods in Counter((one.job, one.beneficiary) for one in now.evictions).items():
            if now.at - last.get((job, beneficiary), -1e9) > BOUNDS.eviction_seconds:
                found.append((job, beneficiary, now.at, pods))
            last[job, beneficiary] = now.at
    return found


def evictions(seen: list[Seen], minima: dict[str, int], evicted: dict[int, str]) -> dict[str, int]:
    """``evicted`` has the pod that was evicted before each session, by the number of the session."""
    found, returned = Counter({"all": 0, "in vain": 0}), set[tuple[str, int]]()
    for at, pod in evicted.items():
        begin, node, victim = seen[at].at, seen[at - 1].nodes[pod], gang_of(pod)
        after = range(at + 1, len(seen))
        end = next((number for number in after if seen[number].at >= begin + BOUNDS.eviction_seconds), None)
        if end is None:
            continue
        back, takers, used = False, set[str](), False
        for number in range(at + 1, end + 1):
            before, now = seen[number - 1], seen[number]
            for came in sorted(now.nodes.keys() - before.nodes.keys()):
                if gang_of(came) == victim and not back and (came, number) not in returned:
                    back = True
                    returned.add((came, number))
                if now.nodes[came] == node and gang_of(came) != victim and now.created[came] <= begin:
                    takers.add(gang_of(came))
            held = Counter(map(gang_of, now.nodes))
            used = used or any(held[job] >= minima[job] and _changed(before, now, job) for job in takers)
        found["all"] += 1
        found["in vain"] += back and not used
    return dict(found)


def _changed(before: Seen, now: Seen, job: str) -> bool:
    def of(one: Seen) -> set[str]:
        return {pod for pod in one.nodes if gang_of(pod) == job}

    return of(before) != of(now)


def agree(shown: Comparing, wanted: Course) -> None:
    found = {one.queue: (one.seconds, one.share * one.seconds, one.short_seconds) for one in shown.queues}
    assert {name: pytest.approx(one) for name, one in wanted.shares.items()} == found
    assert sorted((one.job, one.at) for one in shown.waits_here) == sorted(wanted.waits_here)
    assert shown.starts.waits_here == len(wanted.waits_here) == sum(day.waits_here for day in shown.days)
    told = [(one.job, one.beneficiary, one.at, one.pods) for one in shown.would_evict]
    assert sorted(told) == sorted(wanted.would_evict)
    assert shown.would_evict_pods == sum(pods for *_, pods in told) == sum(day.would_evict_pods for day in shown.days)
    assert {"all": shown.evictions.all, "in vain": shown.evictions.in_vain} == wanted.evictions
    assert sum(day.idle.get("cpu", 0.0) for day in shown.days) == pytest.approx(shown.idle.get("cpu", 0.0))


async def _course(at: Stage, random: Random) -> dict[int, str]:
    """One thing happens before each session; returns which pod was evicted before which."""
    evicted, gone, sizes = dict[int, str](), list[str](), dict[str, int]()
    await at.session(1.0)
    for number in range(40):
        pods = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in at.cluster.client.list("pods")}
        waiting, placed = ([pod for pod in pods if bool(pods[pod]) is on] for on in (False, True))
        used = Counter(pods.values())
        free = [f"n{one}" for one in range(NODES) if used[f"n{one}"] < CPU]
        chance = random.random()
        if waiting and free and chance < 0.45:
            job = gang_of(random.choice(waiting))
            for pod in [pod for pod in waiting if gang_of(pod) == job]:
                used = Counter(one for one in pods.values() if one)
                pods[pod] = next((name for name in free if used[name] < CPU), "")
                if pods[pod]:
                    await at.bind(pod, pods[pod])
        elif placed and chance < 0.6:
            gone.append(random.choice(placed))
            await at.evict(gone[-1])
            await until(lambda: at.cluster.client.get("pods", "default", gone[-1]) is None)
            evicted[len(at.seen)] = gone[-1]
        elif gone and chance < 0.75:
            again = gone.pop(random.randrange(len(gone)))
            made = volcanos(gang_of(again), sizes[gang_of(again)])
            at.cluster.apply([one for one in made if one["metadata"]["name"] == again])
        else:
            name = f"{random.choice('ab')}{number}"
            sizes[name] = random.randint(1, 4)
            at.minima[name] = random.randint(1, sizes[name])
            made = volcanos(name, sizes[name], at.minima[name])
            made[0]["spec"] |= {"queue": name[0]} | random.choice(({}, {"priorityClassName": "high"}))
            at.cluster.apply(made)
        await at.session(random.choice((0.5, 1.0, 3.0, 10.0, 20.0)))
    return evicted


@pytest.mark.parametrize("seed", seeds(1, "courses beside a shadow"))
async def test_figures_of_a_random_course_are_those_of_its_log(tmp_path: Path, seed: int) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    async with stage(tmp_path / "log", nodes=NODES, policy_file=policy) as at:
        at.cluster.apply([HIGH, *(queue(name, capability={"cpu": str(most)}) for name, most in CAPABILITY.items())])
        evicted = await _course(at, Random(seed))
        wanted = Course(
            shares(at.seen),
            waits_here(at.seen, at.minima),
            would_evict(at.seen),
            evictions(at.seen, at.minima, evicted),
        )
        agree(at.shadow.lookout.shown(), wanted)
    agree(summed(logged(tmp_path / "log")).shown(), wanted)

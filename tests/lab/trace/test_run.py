"""Replays on virtual time: a real daemon at an embedded cluster over HTTP, and books that agree with the machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.traces import small_trace
from vsched.clock import FakeClock
from vsched.lab.trace.accounts import TraceAccounts
from vsched.lab.trace.daemon import stepped_daemon
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TraceGang, TraceNode, TracePod
from vsched.lab.trace.machines import Machine, Machines, virtual_cluster
from vsched.lab.trace.run import SCHEDULER, TraceReplay, gives_vgpus, weights_of
from vsched.together import run_fast

OPENB = Path(__file__).parents[3] / "config" / "samples" / "openb"
POLICIES = Path(__file__).parents[3] / "config" / "policies"


class WatchedBooks(TraceAccounts):
    """Books that are held against the machines at every moment, with every start that was booked."""

    def __init__(self, trace: ClusterTrace, weights: dict[str, int]) -> None:
        super().__init__(trace, weights)
        self.starts: list[tuple[str, str, float]] = []
        self.looked = 0
        self._all: list[Machine] = []

    def machines(self, machines: Any) -> None:
        self._all = list(machines)
        super().machines(machines)

    def start(self, pod: TracePod, machine: Machine, now: float, *, whole: bool) -> None:
        assert not pod.models or machine.node.model in pod.models
        self.starts.append((pod.name, machine.node.name, now))
        super().start(pod, machine, now, whole=whole)

    def sample(self, now: float) -> None:
        super().sample(now)
        self.looked += 1
        taken: Counter[str] = Counter()
        for one in self._all:
            assert one.cpu_milli >= 0
            assert one.memory_mib >= 0
            assert all(0 <= free <= WHOLE_GPU for free in one.devices.free)
            taken["cpu"] += one.node.cpu_milli - one.cpu_milli
            taken["memory"] += one.node.memory_mib - one.memory_mib
            taken["gpu"] += WHOLE_GPU * one.node.gpus - sum(one.devices.free)
        assert taken == self.used
        assert self.running == sum(len(one.pods) for one in self._all)
        assert self.created == self.waiting + self.running + self.finished


def replayed(
    trace: ClusterTrace,
    policy: Path | None = None,
    weights: dict[str, int] | None = None,
    apart_seconds: float = 0.0,
    one_queue: bool = False,
) -> tuple[WatchedBooks, dict[str, Any]]:
    """What becomes of a trace, with books that check themselves."""

    async def run() -> TraceReplay:
        clock, given = FakeClock(), weights_of(trace, weights or {})
        async with virtual_cluster(clock) as cluster:
            machines = Machines(cluster, clock, SCHEDULER, one_queue=one_queue, vgpus=gives_vgpus(policy))
            machines.set_up(trace, given)
            async with stepped_daemon(cluster, policy, clock) as daemon:
                replay = TraceReplay(trace, given, clock, lambda standing: None, apart_seconds)
                replay.accounts = WatchedBooks(trace, given)
                await replay.run(machines, daemon)
        return replay

    replay = run_fast(run())
    assert isinstance(replay.accounts, WatchedBooks)
    return replay.accounts, replay.summary()


def one_node(*pods: TracePod, gpus: int = 2) -> ClusterTrace:
    return ClusterTrace((TraceNode("n", 8000, 1000, gpus, "T4"),), pods)


def a_pod(name: str, created: int, runs: int, gpus: int = 1, milli: int = 1000, qos: str = "LS") -> TracePod:
    return TracePod(name, 1000, 10, gpus, milli if gpus else 0, (), qos, created, runs)


def test_pods_wait_until_others_end_and_not_a_second_longer() -> None:
    pods = (a_pod("a", 0, 100, gpus=2), a_pod("b", 10, 50), a_pod("c", 20, 50), a_pod("d", 130, 5))
    books, found = replayed(one_node(*pods))
    assert [(name, now) for name, _, now in books.starts] == [("a", 0.0), ("b", 100.0), ("c", 100.0), ("d", 150.0)]
    assert found["waiting_seconds"]["all"] == {
        "count": 4, "mean": 47.5, "p50": 20.0, "p90": 90.0, "p99": 90.0, "max": 90.0, "never": 0
    }  # fmt: skip
    assert found["utilisation"]["gpu"] == {"mean": 1.0, "peak": 1.0}
    assert (found["last_start_seconds"], found["makespan_seconds"]) == (150.0, 155.0)
    assert found["measured_seconds"] == {"begin": 0.0, "end": 130.0}


def test_parts_of_gpus_share_devices_and_leave_whole_ones_to_others() -> None:
    pods = (a_pod("a", 0, 100, milli=500), a_pod("b", 1, 100, milli=500), a_pod("c", 2, 100), a_pod("d", 3, 9))
    books, found = replayed(one_node(*pods))
    assert [(name, now) for name, _, now in books.starts] == [("a", 0.0), ("b", 1.0), ("c", 2.0), ("d", 101.0)]
    assert found["pods"]["in_pieces"] == 0


def test_a_part_that_no_device_has_room_for_waits_although_the_node_has() -> None:
    pods = (a_pod("a", 0, 100, milli=600), a_pod("b", 1, 100, milli=600), a_pod("c", 2, 9, milli=700))
    books, found = replayed(one_node(*pods))
    assert books.starts[-1] == ("c", "n", 100.0)
    assert found["pods"]["in_pieces"] == 0


def test_what_no_node_ever_has_never_starts_and_the_replay_ends() -> None:
    _, found = replayed(one_node(a_pod("a", 0, 10), a_pod("b", 1, 10, gpus=3)))
    assert found["pods"] == {"created": 2, "placed": 1, "never_placed": 1, "evicted": 0, "in_pieces": 0}
    assert found["waiting_seconds"]["by_size"]["2 to 7 GPUs"]["never"] == 1


def test_months_without_anything_take_no_time() -> None:
    _, found = replayed(one_node(a_pod("a", 0, 10), a_pod("b", 10_000_000, 10)))
    assert found["pods"]["placed"] == 2
    assert found["sessions"] == 2


def test_a_queue_takes_back_its_share_and_what_it_drives_out_begins_anew(tmp_path: Path) -> None:
    # A pod of a trace is a job of one, which gang would protect.
    policy = tmp_path / "policy.yaml"
    text = (POLICIES / "taking-back.yaml").read_text(encoding="utf-8")
    policy.write_text(text.replace("- name: gang ", "- {name: gang, enableReclaimable: false} "), encoding="utf-8")
    first = [a_pod(f"be-{number}", 0, 1000, qos="BE") for number in range(4)]
    later = [a_pod(f"ls-{number}", 100, 50) for number in range(2)]
    books, found = replayed(one_node(*first, *later, gpus=4), policy)
    assert found["pods"] == {"created": 6, "placed": 8, "never_placed": 0, "evicted": 2, "in_pieces": 0}
    assert [now for name, _, now in books.starts if name.startswith("ls")] == [100.0, 100.0]
    # Two pods ran for 100 seconds in vain, waited for 50 and then ran all of their time.
    assert found["lost_seconds"]["gpu"] == 200.0
    assert found["waiting_seconds"]["by_queue"]["be"]["max"] == 50.0
    assert found["makespan_seconds"] == 1150.0


def test_figures_are_those_worked_out_by_hand() -> None:
    nodes = TraceNode("a", 8000, 1000, 2, "T4"), TraceNode("b", 8000, 1000, 1, "P100")
    pods = (
        TracePod("p1", 1000, 10, 1, 1000, ("T4",), "BE", 0, 100),
        TracePod("p2", 1000, 10, 1, 500, ("P100",), "LS", 0, 40),
        TracePod("p3", 1000, 10, 2, 1000, ("T4",), "LS", 20, 50),  # waits until p1 ends at 100
        TracePod("p4", 1000, 10, 1, 500, ("T4",), "BE", 30, 20),
        TracePod("p5", 1000, 10, 0, 0, (), "LS", 60, 10),
    )
    _, found = replayed(ClusterTrace(nodes, pods), POLICIES / "gang-only.yaml", {"ls": 3})
    assert found["measured_seconds"] == {"begin": 0.0, "end": 60.0}
    # Of 3000: 1500 for 30 s, with p4 2000 for 10 s, without p2 1500 for 10 s, p1 alone for 10 s.
    assert found["utilisation"]["gpu"] == {"mean": 0.5, "peak": 0.6667}
    assert found["utilisation"]["cpu"] == {"mean": round(2 / 16, 4), "peak": round(3 / 16, 4)}
    # Node a with one device left is lost to p2 (model) and p3 (both devices): 500 of 1000; with half of one left, to
    # all but p4: 375 of 500. Node b is lost to all but p2: 375 of 500, and 750 of 1000 once that has ended.
    parts = 30 * (500 + 375) / 1500 + 10 * (375 + 375) / 1000 + 10 * (375 + 750) / 1500 + 10 * (500 + 750) / 2000
    assert found["fragmentation"] == {"mean": round(parts / 60, 4), "peak": 0.75}
    # From 20 s on more is wanted than there is: ls is due 2250, and holds 500 of it for 20 s, then nothing; be has all
    # of its 750. At 40 s the pod that holds 500 has ended, so ls is due the 2000 that it waits for.
    jain = (1 + 500 / 2250) ** 2 / (2 * (1 + (500 / 2250) ** 2))
    assert found["fairness"] == {"mean": round((20 * 1 + 20 * jain + 20 * 0.5) / 60, 4), "least": 0.5}
    assert found["waiting_pods"] == {"mean": round(40 / 60, 4), "peak": 1}
    waits = found["waiting_seconds"]
    assert {name: (one["count"], one["max"]) for name, one in waits["by_queue"].items()} == {
        "be": (2, 0),
        "ls": (3, 80),
    }
    assert {name: (one["count"], one["max"]) for name, one in waits["by_size"].items()} == {
        "no GPU": (1, 0), "part of a GPU": (2, 0), "1 GPU": (1, 0), "2 to 7 GPUs": (1, 80)
    }  # fmt: skip
    assert (found["last_start_seconds"], found["makespan_seconds"]) == (100.0, 150.0)


def test_of_pods_that_come_all_at_once_the_time_that_they_run_is_drawn() -> None:
    books = TraceAccounts(one_node(a_pod("a", 5, 100), a_pod("b", 5, 40)), {"ls": 1})
    assert (books.begin, books.end, books.horizon) == (0.0, 0.0, 100.0)


def test_books_balance_at_every_moment_and_every_pod_is_placed_once() -> None:
    trace = small_trace(nodes=12, pods=100)
    books, found = replayed(trace, POLICIES / "gpu-packing.yaml")
    assert books.looked >= 100
    assert sorted(name for name, _, _ in books.starts) == [pod.name for pod in trace.pods]
    assert found["pods"]["placed"] == found["pods"]["created"] == 100
    assert found["utilisation"]["gpu"]["peak"] > 0.8
    assert found["waiting_seconds"]["all"]["max"] > 0.0
    assert 0.0 < found["fairness"]["least"] <= found["fairness"]["mean"] <= 1.0
    lines = found["series"]
    assert {len(values) for values in lines.values()} == {240}
    assert all(0.0 <= share <= 1.0 for name in ("cpu", "memory", "gpu", "fragmentation") for share in lines[name])


def machines_of_8(count: int, *pods: TracePod) -> ClusterTrace:
    return ClusterTrace(tuple(TraceNode(f"m{number}", 8000, 1000, 8) for number in range(count)), pods)


def a_job(name: str, created: int, runs: int, gpus: int, queue: str = "q") -> list[TracePod]:
    """A job as the reader of Philly makes it: a pod, or a gang of pods of 8."""
    gang = TraceGang(name, gpus // 8, gpus) if gpus > 8 else None
    return [
        TracePod(
            f"{name}-{member}", 0, 0, min(8, gpus), 1000, (), "", created, runs, queue=queue, gang=gang, member=member
        )
        for member in range(max(1, gpus // 8))
    ]


def test_a_gang_waits_as_a_whole_and_counts_as_one_job() -> None:
    pods = (*a_job("small", 0, 100, 4), *a_job("gang", 10, 50, 16), *a_job("other", 20, 10, 8))
    books, found = replayed(machines_of_8(2, *pods))
    starts = {name: now for name, _, now in books.starts}
    # The other job takes the machine that is free, as the gang cannot have both.
    assert starts == {"small-0": 0.0, "other-0": 20.0, "gang-0": 100.0, "gang-1": 100.0}
    assert found["waiting_seconds"]["by_size"]["gangs"]["max"] == 90.0
    assert found["waiting_seconds"]["all"]["count"] == 3
    assert (found["pods"]["placed"], found["makespan_seconds"]) == (4, 150.0)


def test_a_gang_that_loses_a_pod_begins_anew_as_a_whole(tmp_path: Path) -> None:
    # Without gang, reclaim takes as little of a gang as it needs.
    policy = tmp_path / "policy.yaml"
    text = (POLICIES / "taking-back.yaml").read_text(encoding="utf-8")
    policy.write_text(text.replace("- name: gang ", "- {name: gang, enableReclaimable: false} "), encoding="utf-8")
    pods = (*a_job("gang", 0, 1000, 16, "a"), *a_job("late", 100, 50, 8, "b"))
    books, found = replayed(machines_of_8(2, *pods), policy)
    assert [(name, now) for name, _, now in books.starts] == [
        ("gang-0", 0.0), ("gang-1", 0.0), ("late-0", 100.0), ("gang-0", 150.0), ("gang-1", 150.0)
    ]  # fmt: skip
    assert found["lost_seconds"]["gpu"] == 16 * 100.0
    assert found["waiting_seconds"]["by_size"]["gangs"]["max"] == 50.0
    assert found["makespan_seconds"] == 1150.0


def test_sessions_keep_apart_while_pods_wait_and_come_at_once_where_none_does() -> None:
    pods = (a_pod("a", 0, 100, gpus=2), a_pod("b", 10, 50), a_pod("c", 20, 50), a_pod("d", 300, 5))
    books, found = replayed(one_node(*pods), apart_seconds=60.0)
    # After that at 10 s the next are at 70 and 130 s; then nobody waits.
    assert [(name, now) for name, _, now in books.starts] == [("a", 0.0), ("b", 130.0), ("c", 130.0), ("d", 300.0)]
    assert found["sessions"] == 5


def test_shares_of_queues_add_up_to_what_is_used() -> None:
    _, found = replayed(small_trace(nodes=6, pods=40))
    shares = found["shares"]
    assert sorted(shares) == ["be", "ls"]
    for used, *parts in zip(found["series"]["gpu"], *(shares[name]["used"] for name in shares), strict=True):
        assert abs(sum(parts) - used) < 2e-4


def test_a_session_is_held_when_a_plugin_says_that_it_may_decide_more(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    text = (POLICIES / "taking-back.yaml").read_text(encoding="utf-8")
    keeping = "- {name: minruntime, arguments: {reclaimMinRuntime: 10m}}\n  - {name: gang, enableReclaimable: false} "
    policy.write_text(text.replace("- name: gang ", keeping), encoding="utf-8")
    pods = (a_pod("be-0", 0, 10_000, qos="BE"), a_pod("be-1", 0, 10_000, qos="BE"), a_pod("ls", 100, 50))
    books, _ = replayed(one_node(*pods), policy)
    # Nothing comes or ends until the minimum run time is over.
    assert [round(now) for name, _, now in books.starts if name == "ls"] == [600]


def test_pods_of_all_queues_can_wait_in_one_line_and_are_still_counted_by_queue() -> None:
    pods = (
        a_pod("first", 0, 100, gpus=2, qos="A"), a_pod("b-1", 1, 50, gpus=2, qos="B"),
        a_pod("a-1", 2, 50, gpus=2, qos="A"), a_pod("b-2", 3, 50, gpus=2, qos="B"),
    )  # fmt: skip
    books, found = replayed(one_node(*pods), POLICIES / "gang-only.yaml", one_queue=True)
    assert [name for name, _, _ in books.starts] == ["first", "b-1", "a-1", "b-2"]
    assert {name: one["count"] for name, one in found["waiting_seconds"]["by_queue"].items()} == {"a": 2, "b": 2}
    books, _ = replayed(one_node(*pods), POLICIES / "gang-only.yaml")
    assert [name for name, _, _ in books.starts] == ["first", "a-1", "b-1", "b-2"], "queue by queue without it"


def test_users_have_namespaces_and_a_higher_priority_starts_first() -> None:
    def of(name: str, user: str, created: int, priority: int = 0) -> TracePod:
        return replace(a_pod(name, created, 100, gpus=2), user=user, priority=priority)

    pods = (of("first", "default", 0), of("plain", "ada", 10), of("urgent", "ben", 20, priority=100))
    books, found = replayed(one_node(*pods), POLICIES / "volcano-default.yaml")
    assert [(name, now) for name, _, now in books.starts] == [("first", 0.0), ("urgent", 100.0), ("plain", 200.0)]
    assert {user: waits["max"] for user, waits in found["waiting_seconds"]["by_user"].items()} == {
        "ada": 190.0, "ben": 80.0, "default": 0.0
    }  # fmt: skip


def test_a_gang_asks_for_cpu_and_memory_and_has_the_priority_of_its_pods() -> None:
    gang = TraceGang("gang", 2, 0, WHOLE_GPU, 8000, 200)
    members = [
        TracePod(f"gang-{n}", 4000, 100, 0, 0, (), "", 5, 50, queue="q", gang=gang, member=n, user="ada", priority=7)
        for n in range(2)
    ]
    before = TracePod("before", 4000, 100, 0, 0, (), "", 0, 30, queue="q")
    late = TracePod("late", 2000, 100, 0, 0, (), "", 6, 10, queue="q")
    books, _ = replayed(machines_of_8(1, before, *members, late), POLICIES / "volcano-default.yaml")
    starts = {name: now for name, _, now in books.starts}
    assert (starts["gang-0"], starts["gang-1"]) == (30.0, 30.0), "both once the first pod has ended"


def test_under_deviceshare_each_pod_gets_the_gpus_that_the_scheduler_says() -> None:
    trace = small_trace(nodes=8, pods=60)
    books, found = replayed(trace, OPENB / "devices-binpack.yaml")
    assert sorted(name for name, _, _ in books.starts) == [pod.name for pod in trace.pods]
    assert found["utilisation"]["gpu"]["peak"] > 0.6
    assert found["pods"]["in_pieces"] == 0


def test_a_gang_of_parts_of_gpus_starts_whole_under_deviceshare() -> None:
    gang = TraceGang("gang", 4, 4, 500)
    members = [TracePod(f"gang-{n}", 0, 0, 1, 500, (), "", 5, 50, queue="q", gang=gang, member=n) for n in range(4)]
    machines = ClusterTrace((TraceNode("n", 8000, 1000, 2),), (a_pod("first", 0, 30, gpus=1), *members))
    books, _ = replayed(machines, OPENB / "devices-spread.yaml")
    starts = {name: now for name, _, now in books.starts}
    assert starts == {"first": 0.0} | {f"gang-{n}": 30.0 for n in range(4)}

"""``vsched plan --live``: what would be different from today, as data and for people, and how it refuses."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.support.held import holding
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, policy_from, policy_of
from tests.support.questions import Asker, recording_of
from tests.support.running import gang, node, nodes_of
from tests.support.taking import taking
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.plan.live import what_if
from vsched.cli.plan.nodes import Drain
from vsched.cli.plan.view import Planned
from vsched.cli.plan.words import flags as flags_words
from vsched.cli.plan.words import pages as pages_words
from vsched.kube.times import time_stamp
from vsched.model.arbitration.records import Ceiling
from vsched.model.history.records import CLUSTER as WHOLE
from vsched.model.history.records import HistoryHour, HistoryRecord, Holder, history_of
from vsched.model.jobs.advice import Advice
from vsched.sim.cluster import Cluster

CLUSTER = """
    node n1 cpu=4 zone=a
    node n2 cpu=4 zone=b
    queue research weight=1 capability=cpu:4
    queue prod weight=1
    class high 100
    job ml/train min=2 pods=2 cpu=2 queue=research phase=Running on=n1
    job ml/big min=2 pods=2 cpu=2 queue=research age=60
    job web/front min=1 pods=1 cpu=2 queue=prod phase=Running on=n2
"""


CONFIG = Path(__file__).parents[3] / "config" / "policies"


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path, recording_of(CLUSTER))


def pods(name: str, count: int, cpu: str = "1") -> str:
    """A PodGroup with its pods, as a person would write them."""
    objects = manifests(f"job ml/{name} min={count} pods={count} cpu={cpu} queue=prod")
    for found in objects:
        found.setdefault("apiVersion", "v1")
        for container in found["spec"].get("containers", ()):
            container["image"] = "busybox"
    return yaml.safe_dump_all(objects)


def test_without_a_change_nothing_is_different(asker: Asker) -> None:
    document = asker.answer()
    assert document["today"] == document["then"]
    assert document["changes"] | {"used": 0, "total": 0} == {
        "submitted": [],
        "binds": [],
        "evictions": [],
        "jobs": [],
        "queues": {},
        "namespaces": {},
        "nodes": [2, 2],
        "used": 0,
        "total": 0,
    }
    assert pages_words.NOTHING_DIFFERENT.strip() in asker.ask().stdout


def test_the_document_says_what_was_asked_of_which_session(asker: Asker) -> None:
    document = asker.answer("--set", "queue/research.weight=3", "--drain", "n1")
    assert document["session"]["number"] == 7
    assert document["edits"] == ["--set queue/research.weight=3", "--drain n1"]
    assert document["then"]["queues"]["research"]["weight"] == 3
    assert document["today"]["queues"]["research"]["weight"] == 1


def test_the_same_question_has_the_same_answer(asker: Asker) -> None:
    submitted = asker.file("job.yaml", pods("more", 2))
    flags = ("--submit", submitted, "--add-nodes", "2", "--like", "n1", "-o", "json")
    assert asker.ask(*flags).stdout == asker.ask(*flags).stdout


def test_edits_are_made_in_the_order_of_their_flags(asker: Asker) -> None:
    flags = ("--remove-node", "n1", "--set", "queue/prod.weight=2", "--set", "queue/prod.weight=5", "--drain", "n2")
    assert asker.answer(*flags)["edits"] == [
        "--remove-node n1",
        "--set queue/prod.weight=2",
        "--set queue/prod.weight=5",
        "--drain n2",
    ]
    assert asker.answer(*flags)["then"]["queues"]["prod"]["weight"] == 5
    # What an earlier flag adds, a later one may name; not the other way round.
    assert asker.ask("--add-nodes", "1", "--like", "n1", "--drain", "n1-new-1").exit_code == 0
    assert asker.ask("--drain", "n1-new-1", "--add-nodes", "1", "--like", "n1").exit_code == 1


def test_the_fate_of_what_is_submitted_comes_first(asker: Asker) -> None:
    small, large = asker.file("small.yaml", pods("small", 2)), asker.file("large.yaml", pods("large", 4, cpu="4"))
    changes = asker.changes("--submit", small, "--submit", large)
    assert changes["submitted"][0] | {"nodes": {}} == {
        "kind": "PodGroup",
        "name": "ml/small",
        "pods": 2,
        "placed": 2,
        "nodes": {},
        "phase": "Inqueue",
        "message": "",
        "domain": "",
        "tier": None,
    }
    assert sum(changes["submitted"][0]["nodes"].values()) == 2
    large_one = changes["submitted"][1]
    assert (large_one["name"], large_one["pods"], large_one["placed"]) == ("ml/large", 4, 0)
    assert large_one["message"]
    text = asker.ask("--submit", small, "--submit", large).stdout
    assert text.index("Submitted") < text.index("ml/small") < text.index("Queues")


@pytest.mark.parametrize(
    ("flags", "job", "change"),
    [
        (("--set", "queue/research.capability.cpu=8", "--add-nodes", "1", "--like", "n1"), "ml/big", "starts"),
        (("--remove-node", "n1"), "ml/train", "waits"),
        (("--remove-node", "n2"), "web/front", "waits"),
        (("--set", "queue/research.capability.cpu=3"), "ml/big", "reason"),
    ],
    ids=["a limit raised and room for it", "its node gone", "the node of a bare pod gone", "another limit"],
)
def test_jobs_that_stand_differently_are_told(asker: Asker, flags: tuple[str, ...], job: str, change: str) -> None:
    found = {each["job"]: each["change"] for each in asker.changes(*flags)["jobs"]}
    assert found[job] == change


def test_another_policy_may_take_back_what_was_lent(tmp_path: Path) -> None:
    lent = """
        node n1 cpu=4
        queue a weight=1
        queue b weight=3
        job ml/lent min=1 pods=4 cpu=1 queue=a phase=Running on=n1
        job ml/due min=1 pods=2 cpu=1 queue=b phase=Inqueue
    """
    asker = Asker(tmp_path, recording_of(lent))
    policy = CONFIG / "taking-back.yaml"
    evictions = asker.changes("--config", str(policy))["evictions"]
    assert evictions
    assert {each["for"] for each in evictions} == {"ml/due"}
    assert all(each["then"] and each["action"] == "reclaim" for each in evictions)
    assert "reclaim" in asker.ask("--config", str(policy)).stdout


def test_what_the_session_decided_has_come_true_on_both_sides(tmp_path: Path) -> None:
    asker = Asker(tmp_path, recording_of("node n1 cpu=4\nqueue q\njob x/a min=1 pods=2 cpu=1 queue=q"))
    document = asker.answer()
    assert document["today"]["cycles"][0]["binds"] == []
    assert document["today"]["jobs"]["x/a"]["ready"] == 2


def test_more_cycles_go_on_from_what_was_decided(asker: Asker) -> None:
    one = asker.file("one.yaml", pods("one", 1))
    document = asker.answer("--submit", one, "--cycles", "3")
    assert [len(cycle["binds"]) for cycle in document["then"]["cycles"]] == [1, 0, 0]
    assert document["changes"]["submitted"][0]["placed"] == 1


def test_the_picture_shows_both_sides(asker: Asker) -> None:
    text = asker.ask("--drain", "n1", "--add-nodes", "2", "--like", "n2").stdout
    assert "What if --drain n1, --add-nodes 2 --like n2" in text
    assert "n1 is cordoned: 2 pods gone for good" in text
    assert "Nodes: 2 → 4" in text
    assert "8 → 16" in text
    assert "\x1b[" not in text
    assert "░" in asker.ask("--remove-node", "n2").stdout


def test_many_placements_are_told_by_job(tmp_path: Path) -> None:
    asker = Asker(tmp_path, recording_of("node n1 cpu=64\nqueue prod"))
    text = asker.ask("--submit", asker.file("many.yaml", pods("many", 30))).stdout
    assert "ml/many  30" in text
    assert "many.7" not in text


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (
            ("--drain", "n3"),
            1,
            flags_words.no_object("--drain n3", "Node", "n3", flags_words.expected_one_of("n1, n2", "")),
        ),
        (("--set", "queue/reserch.weight=3"), 1, "did you mean 'research'?"),
        (("--add-nodes", "2"), 2, "expected one --like NODE for each"),
        (("--submit", "-", "--submit", "-"), 2, flags_words.STDIN_ONCE),
        (("--submit", "nowhere.yaml"), 1, "nowhere.yaml: cannot be read: No such file or directory"),
        (("-f", "x.yaml"), 2, "-f: not with --live"),
        (("--arbitrate",), 2, "--arbitrate: not with --live"),
        (("--arbitrate-grace", "3s"), 2, "--arbitrate-grace: not with --live"),
        (("--live",), 2, flags_words.LIVE_OR_FILE),
        (("--config", "nowhere.yaml"), 1, "nowhere.yaml"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    asker: Asker, flags: tuple[str, ...], code: int, says: str
) -> None:
    found = asker.ask(*flags)
    assert found.exit_code == (1 if code == 1 else 2)
    assert says in found.output + str(found.exception)


@pytest.mark.parametrize("flags", [("--drain", "n1"), ("--set", "queue/a.weight=1"), ("--submit", "x.yaml")])
def test_edits_are_for_running_clusters(flags: tuple[str, ...]) -> None:
    found = CliRunner().invoke(cli, ["plan", "-f", "cluster.yaml", *flags])
    assert found.exit_code == 2
    assert "for running clusters (expected --live, or --from DUMP, with it)" in found.output


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "not a recording"), (b"{}", "expected JSON with kind"), (b"\x1f\x8b", "gzip")]
)
def test_a_file_that_is_no_recording_is_refused(asker: Asker, content: bytes, says: str) -> None:
    asker.dump.write_bytes(content)
    found = asker.ask()
    assert found.exit_code == 1
    assert says in str(found.exception)
    assert str(asker.dump) in str(found.exception)


def test_where_no_daemon_answers_it_is_said() -> None:
    found = CliRunner().invoke(cli, ["plan", "--live", "--daemon", "http://127.0.0.1:9"])
    assert found.exit_code == 1
    assert "127.0.0.1:9" in str(found.exception)


def test_arbitration_stays_as_it_was_and_says_so() -> None:
    recording = recording_of(CLUSTER)
    limited = replace(recording, snapshot=replace(recording.snapshot, ceilings={"ml": Ceiling({0: 4000})}))
    what = what_if(limited, [Drain("n2")], policy=policy_of("gang predicates"))
    assert pages_words.DIVISION_STAYS in what.notes


def test_what_would_help_is_of_the_cluster_as_it_is_and_not_told_of_another() -> None:
    recording = recording_of(CLUSTER)
    assert recording.report is not None
    headline = recording.report.jobs["ml/big"].message
    advice = {"ml/big": Advice(headline, "minMember 1 (1 fewer)")}
    found = what_if(replace(recording, snapshot=replace(recording.snapshot, advice=advice)), [])
    for planned in (found.today, found.then):
        assert planned.reports[0].jobs["ml/big"].message == headline


def test_the_policy_in_force_is_kept_where_none_is_given() -> None:
    recording = recording_of(CLUSTER, policy=policy_of("gang predicates", actions="allocate"))
    assert what_if(recording, []).today.last.queues
    assert what_if(recording, [], policy=DEFAULT_POLICY).changes.queues


async def test_a_running_daemon_is_asked_and_its_cluster_left_alone(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump_all(gang("more", 3)), encoding="utf-8")
    policy = (Path(__file__).parents[3] / "config" / "scheduler.yaml").read_text(encoding="utf-8")
    async with Cluster([node("n1"), node("n2")]) as cluster, holding(cluster, policy) as held:
        cluster.apply(gang("first", 2))
        await until(lambda: len(nodes_of(cluster)) == 2, 60.0)
        await held.quiet()
        before = _as_people_left_it(cluster)
        url = f"http://127.0.0.1:{held.daemon.ports['--listen-address']}"
        flags = ["plan", "--live", "--daemon", url, "--submit", str(more), "--drain", "n1", "-o", "json"]
        found = await asyncio.to_thread(CliRunner().invoke, cli, flags)
        assert found.exit_code == 0, (found.output, found.exception)
        answer = json.loads(found.stdout)
        assert answer["changes"]["submitted"][0]["placed"] == 3
        assert set(answer["changes"]["submitted"][0]["nodes"]) == {"n2"}
        assert answer["session"]["number"] > 0
        assert _as_people_left_it(cluster) == before


def _as_people_left_it(cluster: Cluster) -> list[tuple[str, object]]:
    """Everything but statuses, which the daemon may write at any time."""
    kinds = ("nodes", "pods", "scheduling.volcano.sh/podgroups", "scheduling.volcano.sh/queues")
    return [(each["metadata"]["name"], each.get("spec")) for kind in kinds for each in cluster.client.list(kind)]


def test_another_policy_is_a_part_of_the_question(asker: Asker) -> None:
    policy = str(Path(__file__).parents[3] / "config" / "policies" / "packing.yaml")
    assert asker.answer("--drain", "n1", "--config", policy)["edits"] == ["--drain n1", f"--config {policy}"]
    assert f"--config {policy}" in asker.ask("--config", policy).stdout


# -- memory of fair shares


def test_another_half_life_divides_the_cluster_otherwise(tmp_path: Path) -> None:
    """Queue a used all of the cluster six hours ago, queue b the last hour's."""
    text = """
        node n1 cpu=8
        queue a
        queue b
        job x/a1 pods=8 min=1 cpu=1 queue=a on=n1 phase=Running
        job x/a2 pods=8 min=1 cpu=1 queue=a
        job x/b1 pods=8 min=1 cpu=1 queue=b
    """
    remembers = (CONFIG / "fair-over-time.yaml").read_text(encoding="utf-8")
    recording = recording_of(text, policy=policy_from(remembers))
    now, core_hour = recording.snapshot.now, 3_600_000.0
    earlier = HistoryHour(now - 5 * 3600, 3600.0, ((0, (8 * core_hour,)), (1, (8 * core_hour,))))
    present = HistoryHour(now, 3600.0, ((0, (8 * core_hour,)), (2, (8 * core_hour,))))
    holders = (WHOLE, Holder("a", "x"), Holder("b", "x"))
    history = history_of(
        HistoryRecord(now, now - 6 * 3600, ("cpu",), holders, (), (earlier,), present), recording.snapshot.history.held
    )
    asker = Asker(tmp_path, replace(recording, snapshot=replace(recording.snapshot, history=history)))
    shorter = asker.file("shorter.yaml", remembers.replace("halfLife: 24h", "halfLife: 1h"))
    changed = asker.changes("--config", shorter)["queues"]
    assert changed["a"]["deserved.cpu"] == ["4288m", "7758m"]
    assert changed["b"]["deserved.cpu"] == ["3712m", "242m"]
    assert changed["a"][pages_words.TIMES_ITS_SHARE] == [0.93, 0.06]
    assert f"{pages_words.TIMES_ITS_SHARE} 0.93 → 0.06" in " ".join(asker.ask("--config", shorter).stdout.split())


CONTESTED = """
    node n1 cpu=4
    class high 100
    job ml/old min=0 pods=1 cpu=4 phase=Running on=n1 started=60 {}
    job ml/new min=1 pods=1 cpu=4 class=high age=60 {}
"""
PREEMPTING = taking("enqueue, allocate, preempt", "priority gang conformance", "predicates proportion")
OPTS_IN = "vsched.io/cooperative-eviction=10m"
ASKED = (
    f"asked=preempt~for~ml/new,~until~{time_stamp(NOW + 600)} vsched.io/eviction-requested={time_stamp(NOW)} "
    f"vsched.io/eviction-expected={time_stamp(NOW + 181)}"
)


def contested(old: str, new: str = "") -> Planned:
    """What three cycles decide on two jobs that want one node."""
    recording = replace(recording_of(CONTESTED.format(old, new), policy=PREEMPTING), report=None)
    return what_if(recording, [], cycles=3).then


def decisions(planned: Planned) -> list[list[str]]:
    """The pods that each cycle asks, evicts and binds."""
    return [
        [f"{'ask' if one.asks else 'evict'} {one.name}" for one in report.evictions]
        + [f"bind {one.name}" for one in report.binds]
        for report in planned.reports
    ]


def test_a_victim_that_does_not_opt_in_is_gone_before_the_next_cycle() -> None:
    found = contested("")

    assert decisions(found)[:2] == [["evict old.0"], ["bind new.0"]]
    assert not found.ended


def test_a_victim_that_is_asked_to_end_by_itself_leaves_at_its_deadline() -> None:
    found = contested(OPTS_IN)

    assert decisions(found)[:2] == [["ask old.0"], ["bind new.0"]]
    assert found.ended == [pages_words.time_passes(2, "10m", "ml/old.0 ends")]


def test_a_victim_that_was_asked_leaves_when_it_expects_to_be_done() -> None:
    found = contested(ASKED, "nominated=n1")

    assert decisions(found)[:2] == [[], ["bind new.0"]]
    assert found.ended == [pages_words.time_passes(2, "3m", "ml/old.0 ends")]


def test_the_answer_says_who_is_asked_and_when_they_end(tmp_path: Path) -> None:
    asker = Asker(tmp_path, replace(recording_of(CONTESTED.format(OPTS_IN, ""), policy=PREEMPTING), report=None))
    document = asker.answer("--cycles", "2")

    [evicted] = document["then"]["cycles"][0]["evictions"]
    assert evicted == {
        "pod": "ml/old.0",
        "action": "preempt",
        "for": "ml/new",
        "node": "n1",
        "asked": True,
        "waitSeconds": 600.0,
    }
    assert document["then"]["ended"] == document["notes"] == [pages_words.time_passes(2, "10m", "ml/old.0 ends")]
    assert "10m pass: ml/old.0 ends as asked" in " ".join(asker.ask("--cycles", "2").stdout.split())

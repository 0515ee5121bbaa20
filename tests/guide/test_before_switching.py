"""The story of the guide from a recording to a promoted policy: every command of it is run, in its order.

A cluster, the scheduler in charge of it, and what goes on beside it are on virtual time: half an hour of work takes
seconds. What reads files, and asks for what is there, runs as it is typed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import orjson
import yaml
from msgspec.structs import replace

from tests.guide.conftest import Guided
from tests.guide.examples import write_files
from tests.guide.shell import Command, commands, parse, run, story
from tests.support.running import Obj, node, podgroup
from tests.support.shadowing import LOCKED, TOKEN, in_charge, running
from tests.support.virtual_time import VirtualLoop
from tests.support.waiting import until
from vsched.cli.record.command import settings_of
from vsched.cli.rollout import words as rollout_words
from vsched.cli.run.command import options_of
from vsched.clock import SystemClock
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.policy.config_map import PolicyMap, map_key
from vsched.daemon.policy.rollout.machine import ENDED, RolloutPhase
from vsched.daemon.policy.rollout.reading import state_in
from vsched.daemon.recording import WorkRecording
from vsched.daemon.shadow.app import ShadowDaemon
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders
from vsched.kube.client import ApiClient
from vsched.lab.trace import words
from vsched.settings.built_in import REGISTRY
from vsched.sim.authentication import account_user
from vsched.sim.cluster import Cluster

SECONDS = 1500
SMALL_SECONDS, GANG_SECONDS = 225, 75
POLICY = "volcano-scheduler.conf"
SCHEDULER_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
"""First come, first served, and no start is planned: gangs starve beside small jobs."""
QUICKLY = ("--schedule-period", "20s", "--no-advise", "--listen-address", "", "--healthz-address", "")
"""Sessions without a reason are rare, and nobody looks for changes that would help: there is much time."""
FEW = ("--trials", "8", "--processes", "1")
MAP = ("vsched", "vsched-policy")
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": MAP[0]}}


def the_story() -> list[Command]:
    """All commands of the chapter."""
    return [each for block in story() for each in commands(block.text)]


def beginning(*words: str) -> Command:
    """The command of the story that begins with these words."""
    (found,) = [each for each in the_story() if each.words[: len(words)] == words]
    return found


def flags(command: Command, *more: str) -> dict[str, Any]:
    """What the program makes of a command's flags, without those for the connection."""
    given = parse([*command.words[1:], *more]).params
    return {name: value for name, value in given.items() if name not in ("kubeconfig", "context")}


def options(command: Command) -> Options:
    """What a daemon makes of its command."""
    given = flags(command, *QUICKLY)
    del given["log_level"], given["log_format"]
    return options_of(given, given.pop("window_ms"))


def work() -> Iterator[tuple[float, list[Obj]]]:
    """Small jobs that fill two machines, and gangs among them that need one each: when they come, and what."""
    for number, at in enumerate(range(10, SECONDS, 60)):
        yield at, _job(f"small{number}", 1, 1, SMALL_SECONDS)
    for number, at in enumerate(range(230, SECONDS, 450)):
        yield at, _job(f"gang{number}", 2, 2, GANG_SECONDS)


def _job(name: str, size: int, gpus: int, seconds: int) -> list[Obj]:
    group = podgroup(name, size)
    group["metadata"]["annotations"] = {"vsched.io/expected-duration": f"{seconds}s"}
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": f"{gpus}"}
    notes = {"scheduling.k8s.io/group-name": name, "vsched.io/duration": f"{seconds}s"}
    container = {"name": "main", "image": "busybox", "resources": {"requests": amounts, "limits": amounts}}
    spec = {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [container]}
    names = [f"{name}-{number}" for number in range(size)]
    pods = [{"metadata": {"name": each, "namespace": "default", "annotations": notes}, "spec": spec} for each in names]
    return [group, *({"apiVersion": "v1", "kind": "Pod", **each} for each in pods)]


def machine(name: str) -> Obj:
    found = node(name, "16", "64Gi")
    for amounts in found["status"].values():
        amounts["nvidia.com/gpu"] = "2"
    return found


async def looked_on(folder: Path, roles: list[Obj]) -> Obj:
    """Work that somebody schedules, recorded and with a shadow beside it; what is there at the end."""
    cluster = Cluster([machine("n1"), machine("n2")], settings=LOCKED)
    cluster.tokens.static[TOKEN] = account_user("vsched", "shadow")
    async with cluster:
        cluster.apply([NAMESPACE, *roles])
        credentials = FixedHeaders((("Authorization", f"Bearer {TOKEN}"),))
        async with (
            ApiClient(Connection(cluster.url, credentials=credentials)) as client,
            in_charge(cluster, policy_file=folder / POLICY, period_seconds=20.0, advise=False),
            running(ShadowDaemon(options(beginning("vsched", "run", "--shadow")), client, REGISTRY)),
            asyncio.TaskGroup() as beside,
        ):
            recording = WorkRecording(settings_of(**flags(beginning("vsched", "record", "--out"))), client, REGISTRY)
            recorded = beside.create_task(recording.run())
            now = 0.0
            for at, job in sorted(work(), key=lambda each: each[0]):
                await asyncio.sleep(at - now)
                cluster.apply(job)
                now = at
            await asyncio.sleep(SECONDS - now)
            recording.stop()
            await recorded
        kinds = ("nodes", "pods", "scheduling.volcano.sh/podgroups", "scheduling.volcano.sh/queues")
        return {
            "apiVersion": "v1",
            "kind": "List",
            "items": [one for kind in kinds for one in cluster.client.list(kind)],
        }


async def rolled_out(config_map: Obj) -> Obj:
    """The ConfigMap once its candidate has gone through all steps; a pod comes every quarter of a minute."""
    async with Cluster([machine("n1")]) as cluster, ApiClient(Connection(cluster.url)) as client:
        cluster.apply([NAMESPACE, config_map])

        def phase() -> RolloutPhase | None:
            state = state_in(found()["metadata"].get("annotations"))
            return None if state is None else state.phase

        def found() -> Obj:
            return cluster.client.get("configmaps", *MAP) or {}

        async def arrive() -> None:
            for number in range(10_000):
                cluster.apply(_job(f"p{number}", 1, 0, 10))
                await asyncio.sleep(15.0)

        wanted = options(beginning("vsched", "run", "--scheduler-configmap"))
        policy = await PolicyMap.open(
            map_key(wanted.policy_map), client, REGISTRY, SystemClock(), lambda *_, **__: None
        )
        async with running(Daemon(replace(wanted, scheduler_names=("volcano",)), client, REGISTRY, policy=policy)):
            arriving = asyncio.create_task(arrive())
            await until(lambda: phase() in ENDED, 3600.0)
            arriving.cancel()
        return found()


def started(info: dict[str, Any]) -> int:
    """How many jobs have started, by the figures of a recording."""
    return sum(waits["started"] for waits in info["waits"].values())


def typed(command: Command, where: Guided, *more: str) -> str:
    """What a command prints; it has to end well."""
    code, printed, complaint = run(command._replace(words=(*command.words, *more)), b"", where)
    assert code == 0, f"{command}\n{printed.decode()}{complaint}"
    return printed.decode()


def shortened(rollout: str) -> str:
    """The rollout of the guide in minutes; waits of milliseconds differ by more than a fifth."""
    by_hours = (("1h", "1m"), ("30m", "1m"), ("48h", "1m"), ("24h", "1m"), ("22:00-06:00", "00:00-23:59"))
    for long, short in (*by_hours, ("120 %", "1000 %")):
        assert long in rollout
        rollout = rollout.replace(long, short)
    return rollout


def in_force_after(rolled: Obj, where: Guided) -> str:
    """What ``vsched rollout status`` says first of a rollout."""

    async def asked() -> str:
        async with Cluster(0) as cluster:
            cluster.write_kubeconfig(where.kubeconfig)
            cluster.apply([NAMESPACE, rolled])
            return await asyncio.to_thread(typed, beginning("vsched", "rollout", "status"), where)

    return asyncio.run(asked()).splitlines()[0]


def test_from_the_recording_to_the_promoted_policy(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / POLICY).write_text(SCHEDULER_CONF, encoding="utf-8")
    where = Guided(tmp_path, tmp_path / "kubeconfig", "")
    roles = [*yaml.safe_load_all(typed(beginning("vsched", "rbac"), where))]
    with chdir(tmp_path), asyncio.Runner(loop_factory=VirtualLoop) as at:
        there = at.run(looked_on(tmp_path, roles))

    info = orjson.loads(typed(beginning("vsched", "record", "info"), where, "-o", "json"))
    assert (info["jobs"], info["gaps"], info["schedulers"]) == (len([*work()]), [], ["volcano"])

    assert words.MATCH in typed(beginning("vsched", "replay"), where, "--no-plots")
    replayed = orjson.loads((tmp_path / "results/comparison.json").read_bytes())
    today = replayed["policies"][0]
    assert today["match"]["as_recorded"] > 0.9, "the policy of today does in the replay what it has done"
    reporting = beginning("vsched", "shadow", "report")
    typed(reporting, where)
    assert (tmp_path / reporting.words[-1]).stat().st_size
    report = orjson.loads(typed(reporting._replace(words=reporting.words[:-2]), where, "-o", "json"))
    assert sum(report["starts"][verdict] for verdict in ("later", "alike", "waits_here", "unseen")) == started(info)
    typed(beginning("vsched", "tune"), where, *FEW)
    tuned = orjson.loads((tmp_path / "tuned/tune.json").read_bytes())
    assert tuned["smallest"]["changes"], "planned starts let gangs have their turns"

    (tmp_path / beginning("kubectl", "get").into).write_bytes(orjson.dumps(there))
    assert "default/gang" in typed(beginning("vsched", "plan"), where)

    config_map = yaml.safe_load((tmp_path / beginning("kubectl", "apply").words[-1]).read_text(encoding="utf-8"))
    candidate = (tmp_path / "tuned/smallest.yaml").read_text(encoding="utf-8")
    config_map["data"] |= {"candidate.conf": candidate, "rollout": shortened(config_map["data"]["rollout"])}
    with asyncio.Runner(loop_factory=VirtualLoop) as at:
        rolled = at.run(rolled_out(config_map))
    assert in_force_after(rolled, where) == rollout_words.in_force("candidate.conf", candidate=True)


def test_the_story_has_these_commands_and_no_others() -> None:
    """What the other test runs is all that the chapter tells."""
    told = [" ".join(each.words[:3]).partition(" -")[0] for each in the_story()]
    assert told == [
        "vsched record",
        "vsched record info",
        "vsched replay",
        "vsched rbac",
        "vsched run",
        "vsched shadow report",
        "vsched tune",
        "kubectl get nodes,pods,podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh",
        "vsched plan",
        "kubectl apply",
        "vsched run",
        "vsched rollout status",
    ]

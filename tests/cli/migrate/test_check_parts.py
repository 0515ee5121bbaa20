"""What ``vsched migrate check`` says of each part: pure, case by case."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.pages import page, rows
from vsched.cli.migrate.check.components import (
    CONTROLLERS,
    FoundPolicy,
    component_findings,
    components_of,
    policy_of,
    webhook_findings,
)
from vsched.cli.migrate.check.findings import Finding, Verdict, of_many
from vsched.cli.migrate.check.flags import flag_findings, flags_of
from vsched.cli.migrate.check.keys import WORKS, is_volcanos, key_findings
from vsched.cli.migrate.check.objects import (
    other_findings,
    pod_findings,
    podgroup_findings,
    queue_findings,
    vcjob_findings,
)
from vsched.cli.migrate.check.policy import policy_findings
from vsched.cli.migrate.check.steps import MigrationState, steps_of
from vsched.cli.migrate.check.words.differences import OF_ACTIONS, OF_PLUGINS, POINTS
from vsched.settings.built_in import REGISTRY

Obj = dict[str, Any]
NAMESPACE = "volcano-system"


def plain(text: str) -> str:
    """A cell of a table without links and marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def test_what_is_said_to_differ_stands_in_the_guide() -> None:
    table = rows(page("config/README.md").section("Where it differs from Volcano"))
    told = {plain(row[0]): plain(row[-1]) for row in table}
    assert {point: told.get(point) for point in POINTS} == POINTS
    assert {*OF_ACTIONS.values(), *OF_PLUGINS.values()} <= POINTS.keys()
    assert OF_ACTIONS.keys() <= REGISTRY.actions.keys()
    assert OF_PLUGINS.keys() <= REGISTRY.plugins.keys()


# -- the policy

POLICY = """\
actions: "enqueue, allocate, elect"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableNodeOrder: true
    enablePreemptabel: false
- plugins:
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
  - name: binpack
    arguments:
      binpack.weight: much
      binpack.cpu: 5
configurations:
- name: allocate
  arguments: {predicateErrorCacheEnable: true}
metrics:
  type: prometheus
  address: http://prometheus:9090
extra: 1
"""


def test_every_thing_in_a_policy_has_a_verdict() -> None:
    found = {one.what.strip(): one.verdict for one in policy_findings(POLICY, REGISTRY)}
    assert found == {
        "action enqueue": Verdict.DIFFERS,
        "action allocate": Verdict.WORKS,
        "action elect": Verdict.MISSING,
        "plugin priority": Verdict.WORKS,
        "plugin gang": Verdict.WORKS,
        "enableNodeOrder: true": Verdict.DIFFERS,
        "enablePreemptabel: false": Verdict.MISSING,
        "plugin deviceshare": Verdict.DIFFERS,
        "deviceshare.VGPUEnable: true": Verdict.WORKS,
        "plugin binpack": Verdict.WORKS,
        "binpack.weight: much": Verdict.MISSING,
        "binpack.cpu: 5": Verdict.WORKS,
        "configuration of allocate": Verdict.WORKS,
        "predicateErrorCacheEnable: true": Verdict.DIFFERS,
        "metrics type": Verdict.WORKS,
        "metrics address": Verdict.WORKS,
        "extra": Verdict.MISSING,
    }


@pytest.mark.parametrize(
    ("actions", "first", "second", "more", "verdict"),
    [
        pytest.param("allocate, reclaim", "gang", "capacity", "", Verdict.DIFFERS, id="a later tier overrules gang"),
        pytest.param("allocate", "gang", "capacity", "", Verdict.WORKS, id="nothing is reclaimed"),
        pytest.param("reclaim", "gang", "binpack", "", Verdict.WORKS, id="no later tier names victims"),
        pytest.param("reclaim", "capacity", "gang", "", Verdict.WORKS, id="gang is in the later tier"),
        pytest.param("reclaim", "gang, enableReclaimable: false", "capacity", "", Verdict.WORKS, id="gang is off"),
        pytest.param(
            "reclaim", "gang", "capacity", "configurations: [{name: reclaim, arguments: {victimTiers: reference}}]",
            Verdict.WORKS, id="Volcano's way is chosen",
        ),
    ],
)  # fmt: skip
def test_where_gang_protects_from_reclaim(actions: str, first: str, second: str, more: str, verdict: Verdict) -> None:
    tiers = f"tiers: [{{plugins: [{{name: {first}}}]}}, {{plugins: [{{name: {second}}}]}}]"
    [gang] = [
        one
        for one in policy_findings(f'actions: "{actions}"\n{tiers}\n{more}\n', REGISTRY)
        if one.what == "plugin gang"
    ]
    assert gang.verdict is verdict
    assert ("victimTiers" in gang.says) is (verdict is Verdict.DIFFERS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: [", "not YAML", id="text that is no YAML"),
        pytest.param("actions: 5.5\ntiers: []", "tiers: expected a list of tiers", id="no tiers"),
        pytest.param("- a", "expected a mapping", id="a list"),
    ],
)
def test_a_policy_that_cannot_be_read_is_missing(text: str, words: str) -> None:
    found = list(policy_findings(text, REGISTRY))
    assert any(one.verdict is Verdict.MISSING and words in f"{one.what}: {one.says}" for one in found)


def test_passwords_of_a_policy_are_not_shown() -> None:
    metrics = "{type: elasticsearch, elasticsearch.password: x1}"
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: gang}}]}}]\nmetrics: {metrics}"
    assert not any("x1" in f"{one.what} {one.says}" for one in policy_findings(text, REGISTRY))


# -- flags


@pytest.mark.parametrize(
    ("container", "flags"),
    [
        pytest.param({"args": ["--a=b", "-v=3", "2>&1"]}, [("a", "b"), ("v", "3")], id="with an equals sign"),
        pytest.param({"args": ["--a", "b", "--c"]}, [("a", "b"), ("c", "true")], id="in two words, and alone"),
        pytest.param({"command": ["sh", "-c"], "args": ["./vc-scheduler --a='b c' --d"]},
                     [("a", "b c"), ("d", "true")], id="in a shell"),
    ],
)  # fmt: skip
def test_flags_of_a_container(container: Obj, flags: list[tuple[str, str]]) -> None:
    assert flags_of(container) == flags


@pytest.mark.parametrize(
    ("flag", "value", "verdict"),
    [
        ("scheduler-name", "volcano", Verdict.WORKS),
        ("plugins-dir", "", Verdict.WORKS),
        ("plugins-dir", "/plugins", Verdict.MISSING),
        ("node-selector", "a:b", Verdict.MISSING),
        ("scheduler-sharding-mode", "none", Verdict.WORKS),
        ("scheduler-sharding-mode", "hard", Verdict.WORKS),
        ("percentage-nodes-to-find", "10", Verdict.DIFFERS),
        ("leader-elect-lease-duration", "15s", Verdict.WORKS),
        ("feature-gates", "SchedulingGatesQueueAdmission=true", Verdict.WORKS),
        ("feature-gates", "PodDisruptionBudgetsSupport=false", Verdict.DIFFERS),
        ("feature-gates", "Later=true", Verdict.DIFFERS),
        ("of-tomorrow", "1", Verdict.DIFFERS),
    ],
)
def test_verdicts_on_flags(flag: str, value: str, verdict: Verdict) -> None:
    (found,) = flag_findings([(flag, value)])
    assert found.verdict is verdict
    assert found.says or verdict is Verdict.WORKS


# -- Deployments, webhooks, the ConfigMap


def deployment(name: str, image: str, *, ready: int = 1, args: tuple[str, ...] = (), app: str = "", **pod: Any) -> Obj:
    container = {"name": "main", "image": image, "args": list(args)}
    template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **pod}}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": 2, "template": template},
        "status": {"readyReplicas": ready},
    }


@pytest.mark.parametrize(
    ("obj", "role"),
    [
        pytest.param(deployment("x", "r:5000/volcanosh/vc-scheduler:v1.9@sha256:0"), "scheduler", id="by its image"),
        pytest.param(deployment("x", "own", app="volcano-controller"), "controllers", id="by its label"),
        pytest.param(deployment("volcano-admission", "own"), "admission webhooks", id="by its name"),
        pytest.param(deployment("x", "own"), None, id="others are none"),
    ],
)
def test_parts_of_volcano(obj: Obj, role: str | None) -> None:
    assert [one.role for one in components_of([obj])] == ([role] if role else [])


def test_without_a_scheduler_something_is_not_read() -> None:
    verdicts = {one.what: one.verdict for one in component_findings([], NAMESPACE)}
    assert verdicts == {"scheduler": Verdict.UNREAD, CONTROLLERS: Verdict.WORKS}


def test_controllers_that_are_scaled_down_do_not_run() -> None:
    obj = deployment("volcano-controllers", "vc-controller-manager")
    obj["spec"]["replicas"] = 0
    (_, own) = (one for one in component_findings(components_of([obj]), NAMESPACE) if one.what.startswith(CONTROLLERS))
    assert own.says.startswith("none run: vsched's own look after")


def configuration(policy: str | None, namespace: str = NAMESPACE) -> Obj:
    rules = [{"operations": ["CREATE", "UPDATE"], "resources": ["queues"]}]
    service = {"namespace": namespace, "name": "volcano-admission-service"}
    webhook = {"name": "validatequeue.volcano.sh", "clientConfig": {"service": service}, "rules": rules}
    return {"metadata": {"name": "w"}, "webhooks": [webhook | ({"failurePolicy": policy} if policy else {})]}


@pytest.mark.parametrize(
    ("policy", "ready", "verdict"),
    [
        pytest.param("Ignore", 0, Verdict.WORKS, id="one that lets pass does no harm"),
        pytest.param("Fail", 1, Verdict.DIFFERS, id="one that answers may not be scaled down"),
        pytest.param("Fail", 0, Verdict.MISSING, id="one that does not answer refuses all"),
        pytest.param(None, 0, Verdict.MISSING, id="it fails by default"),
    ],
)
def test_webhooks(policy: str | None, ready: int, verdict: Verdict) -> None:
    components = components_of([deployment("volcano-admission", "vc-webhook-manager:v1", ready=ready)])
    (found,) = webhook_findings([configuration(policy)], components, NAMESPACE)
    assert found.verdict is verdict
    assert "create queues, update queues" in found.says
    assert list(webhook_findings([configuration(policy, "elsewhere")], components, NAMESPACE)) == []


def config_map(name: str, **data: str) -> Obj:
    return {"metadata": {"name": name}, "data": {key.replace("_", "."): text for key, text in data.items()}}


@pytest.mark.parametrize(
    ("args", "volumes", "maps", "expected"),
    [
        pytest.param((), [], [], ("", "", "", ""), id="none"),
        pytest.param(("--scheduler-conf=/x/a.conf",), [], [], ("", "", "", "/x/a.conf"), id="a file that is nowhere"),
        pytest.param((), [], [config_map("volcano-scheduler-configmap", **{"volcano-scheduler_conf": "a"})],
                     ("volcano-scheduler-configmap", "volcano-scheduler.conf", "a", ""), id="by the usual name"),
        pytest.param(("--scheduler-conf=/x/own_conf".replace("_", "."),), ["mine"],
                     [config_map("mine", own_conf="b"), config_map("a-scheduler-configmap", own_conf="c")],
                     ("mine", "own.conf", "b", "/x/own.conf"), id="the one that is mounted, by the name of the file"),
        pytest.param(("--scheduler-conf=/x/a.conf",), ["mine"], [config_map("mine", key="b")],
                     ("mine", "key", "b", "/x/a.conf"), id="under another key, if it is the only one"),
    ],
)  # fmt: skip
def test_where_the_policy_is(
    args: tuple[str, ...], volumes: list[str], maps: list[Obj], expected: tuple[str, ...]
) -> None:
    mounted = [{"name": "v", "configMap": {"name": name}} for name in volumes]
    (scheduler,) = components_of([deployment("s", "vc-scheduler", args=args, volumes=mounted)])
    assert policy_of(scheduler, maps) == FoundPolicy(*expected)


# -- objects


def queue(name: str, **spec: Any) -> Obj:
    return {"metadata": {"name": name, "uid": name}, "spec": spec, "status": {"state": "Open"}}


def group(name: str, **spec: Any) -> Obj:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec, "status": {"phase": "Running"}}


def vcjob(name: str, phase: str = "Running", **task: Any) -> Obj:
    template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"tasks": [{"name": "a", "replicas": 1, "template": template, **task}]},
        "status": {"state": {"phase": phase}},
    }


def summed(findings: Any) -> list[tuple[str, int | None]]:
    return [(one.verdict.value, one.count) for one in findings]


@pytest.mark.parametrize(
    ("spec", "verdicts"),
    [
        pytest.param({"weight": 1}, [("works", 1)], id="a plain one"),
        pytest.param({"capability": {"cpu": "x"}}, [("works", 1), ("missing", 1)], id="one that cannot be read"),
        pytest.param({"dequeueStrategy": "fifo"}, [("works", 1), ("differs", 1)], id="a wish without effect"),
        pytest.param({"parent": "gone"}, [("works", 1), ("differs", 1)], id="a parent that is not there"),
        pytest.param({"parent": "root"}, [("works", 1)], id="the root may be made later"),
    ],
)
def test_queues(spec: Obj, verdicts: list[tuple[str, int]]) -> None:
    assert summed(queue_findings([queue("a", **spec)])) == verdicts


@pytest.mark.parametrize(
    ("spec", "verdicts"),
    [
        pytest.param({"minMember": 2}, [("works", 1)], id="a plain one"),
        pytest.param({"minMember": -2}, [("works", 1), ("missing", 1)], id="one that cannot be read"),
        pytest.param({"priorityClassName": "gone"}, [("works", 1), ("differs", 1)], id="a class that is not there"),
        pytest.param({"priorityClassName": "high"}, [("works", 1)], id="a class that is there"),
        pytest.param({"networkTopology": {"mode": "hard"}}, [("works", 1), ("differs", 1)], id="hard without a tier"),
        pytest.param(
            {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, [("works", 1)], id="hard with one"
        ),
    ],
)
def test_podgroups(spec: Obj, verdicts: list[tuple[str, int]]) -> None:
    assert summed(podgroup_findings([group("a", **spec)], [{"metadata": {"name": "high"}}])) == verdicts


@pytest.mark.parametrize(
    ("job", "verdicts"),
    [
        pytest.param(vcjob("a"), [("works", 1)], id="a plain one"),
        pytest.param(vcjob("a", minAvailable=2), [("works", 1), *[("missing", 1)] * 2], id="one that is refused"),
        pytest.param(vcjob("a", "Completed", minAvailable=2), [("works", 1)], id="one that has ended is let be"),
    ],
)
def test_vcjobs(job: Obj, verdicts: list[tuple[str, int]]) -> None:
    assert summed(vcjob_findings([job])) == verdicts


@pytest.mark.parametrize(
    ("controllers", "verdict"),
    [(True, Verdict.DIFFERS), (False, Verdict.MISSING)],
)
def test_kinds_that_vsched_does_not_run(controllers: bool, verdict: Verdict) -> None:
    (found,) = other_findings({"HyperJob": [group("a")]}, controllers)
    assert (found.verdict, found.count) == (verdict, 1)


@pytest.mark.parametrize("kind", ["CronJob.batch.volcano.sh", "JobFlow", "JobTemplate"])
def test_kinds_that_vsched_runs_itself(kind: str) -> None:
    (found,) = other_findings({kind: [group("a")]}, False)
    assert found.verdict is Verdict.WORKS


def pod(name: str, scheduler: str = "volcano", phase: str = "Pending", **spec: Any) -> Obj:
    container = {"name": "main", "resources": {"limits": spec.pop("limits", {})}}
    full = {"schedulerName": scheduler, "containers": [container], **spec}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": full, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            {"volumes": [{"name": "v", "rbd": {"image": "x"}}]}, "spec.volumes: rbd", id="a disk without a claim"
        ),
        pytest.param({"workloadRef": {"name": "x"}}, "spec.workloadRef", id="groups of Kubernetes 1.35"),
    ],
)
def test_pods_that_would_wait(spec: Obj, words: str) -> None:
    *_, found = pod_findings([pod("a", **spec), pod("b", **spec)], ["volcano"])
    assert (found.verdict, found.count) == (Verdict.MISSING, 2)
    assert found.says.startswith(words)
    assert "(ns/a, ns/b)" in found.says
    for others in (pod("a", "default-scheduler", **spec), pod("a", phase="Succeeded", **spec)):
        assert all(one.verdict is Verdict.WORKS for one in pod_findings([others], ["volcano"]))


def test_pods_are_counted_by_scheduler() -> None:
    found = pod_findings([pod("a"), pod("b"), pod("c", "other"), pod("d", phase="Failed")], ["volcano"])
    assert [(one.what, one.count) for one in found] == [("schedulerName other", 1), ("schedulerName volcano", 2)]


def test_many_objects_with_one_problem_are_one_line() -> None:
    (found,) = of_many("p", "k", Verdict.MISSING, [(f"n{at}", "broken") for at in range(5)])
    assert found == Finding("p", "k", Verdict.MISSING, "broken (n0, n1, n2 and 2 more)", 5)


# -- annotations and labels


@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("scheduling.k8s.io/group-name", Verdict.WORKS),
        ("volcano.sh/task-spec", Verdict.WORKS),
        ("volcano.sh/forward-cluster", Verdict.DIFFERS),
        ("volcano.sh/gpu-index", Verdict.WORKS),
        ("volcano.sh/of-tomorrow", Verdict.DIFFERS),
        ("sla-waiting-time", Verdict.WORKS),
    ],
)
def test_keys(key: str, verdict: Verdict) -> None:
    labelled = {"metadata": {"name": "a", "labels": {key: "", "app": "x"}, "annotations": {key: ""}}}
    (found,) = key_findings({"pods": [labelled, labelled], "queues": [labelled]})
    assert (found.what, found.verdict, found.count) == (key, verdict, 3)
    assert "2 pods, 1 queue" in found.says


def test_keys_of_others_are_none_of_volcanos() -> None:
    assert not any(
        map(is_volcanos, ("app", "example.com/volcano.sh", "notvolcano.sh.example/x", "kueue.x-k8s.io/queue-name"))
    )
    assert all(map(is_volcanos, WORKS))


# -- the commands


def test_five_commands_there_and_three_back() -> None:
    steps = steps_of(MigrationState(policy=("volcano-scheduler-configmap", "volcano-scheduler.conf"), replicas=2))
    there, back = ([command for _, command in each] for each in steps)
    assert there == [
        "kubectl -n volcano-system get configmap volcano-scheduler-configmap "
        "-o jsonpath='{.data.volcano-scheduler\\.conf}' > volcano-scheduler.conf",
        "vsched check volcano-scheduler.conf",
        "helm install vsched helm/vsched -n vsched --create-namespace "
        "--set controllers.queues=false,controllers.podGroups=false --set-file policy.text=volcano-scheduler.conf",
        "kubectl -n volcano-system scale deployment volcano-scheduler --replicas=0",
        "helm upgrade vsched helm/vsched -n vsched --reuse-values --set schedulerNames='{vsched,volcano}'",
    ]
    assert back == [
        "helm upgrade vsched helm/vsched -n vsched --reuse-values --set schedulerNames='{vsched}'",
        "kubectl -n volcano-system scale deployment volcano-scheduler --replicas=2",
        "helm uninstall vsched -n vsched",
    ]


def test_commands_name_the_cluster_and_what_is_not_usual() -> None:
    now = MigrationState(
        namespace="v", context="my cluster", names=("one", "two"), controllers=False, default_queue="all", scheduler="s"
    )
    there = [command for _, command in steps_of(now).there]
    assert there == [
        "helm install vsched helm/vsched -n vsched --create-namespace --kube-context 'my cluster' "
        "--set controllers.volcanoNamespace=v,defaultQueue=all",
        "kubectl --context 'my cluster' -n v scale deployment s --replicas=0",
        "helm upgrade vsched helm/vsched -n vsched --reuse-values --kube-context 'my cluster' "
        "--set schedulerNames='{vsched,one,two}'",
    ]

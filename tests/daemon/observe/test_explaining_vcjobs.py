"""What somebody is told who asks about a vcjob that does not run."""

from __future__ import annotations

from tests.support.asking import ask
from tests.support.running import node
from tests.support.serving import serving
from tests.support.vcjob_cluster import command, phase, task, vcjob
from tests.support.waiting import until, until_answered
from vsched.controllers.vcjobs import words as vcjobs_words
from vsched.framework.words import jobs as jobs_words
from vsched.sim.cluster import Cluster
from vsched.web.words import answers

WAITING = {
    "a plugin that does not exist": (
        vcjob("plugin", task("w", 1), plugins={"sssh": []}),
        vcjobs_words.cannot_be_run("default/plugin", "spec.plugins: 'sssh' (expected env, svc, "),
    ),
    "an event that does not exist": (
        vcjob("event", task("w", 1), policies=[{"event": "PodGone", "action": "RestartJob"}]),
        vcjobs_words.cannot_be_run("default/event", "spec.policies[0].event: 'PodGone' (expected one of "),
    ),
    "a task that depends on none there is": (
        vcjob("task", task("a", 1), task("b", 1, dependsOn={"name": ["z"]})),
        vcjobs_words.cannot_be_run("default/task", vcjobs_words.no_task_to_depend_on(1, "z")),
    ),
    "a claim that does not exist": (
        vcjob("claim", task("w", 1), volumes=[{"mountPath": "/data", "volumeClaimName": "data"}]),
        vcjobs_words.has_no_podgroup(
            "default/claim", "Pending", ": PersistentVolumeClaim data does not exist in namespace default"
        ),
    ),
    "a queue that does not exist": (vcjob("queue", task("w", 1), queue="reserch"), jobs_words.no_queue("reserch")),
    "a quota that refuses its pods": (
        vcjob("quota", task("w", 3), minAvailable=3),
        "ResourceQuota small allows 1 pods: 1 used, 2 missing pods ask for 2; role w has 1 of the 3 pods that it needs",
    ),
}
"""What keeps a vcjob from running, and the beginning of what is said of it."""


async def test_what_keeps_a_vcjob_from_running_is_said() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"hard": {"pods": "1"}},
    }
    async with Cluster([node("n1")]) as cluster, serving(cluster.url) as (_, url):
        cluster.apply([quota])
        await until(lambda: (cluster.client.get("resourcequotas", "default", "small") or {}).get("status"))
        cluster.apply([job for job, _ in WAITING.values()])
        for job, said in WAITING.values():
            path = f"{url}/explain/default/{job['metadata']['name']}"

            async def is_said(path: str = path, said: str = said) -> bool:
                body = (await ask(path)).body
                return str(body.get("error") or body["message"]).startswith(said)

            await until_answered(is_said)


async def test_a_vcjob_without_a_podgroup_is_known_all_the_same() -> None:
    other = vcjob("other", task("w", 1), schedulerName="volcano")
    many = vcjob("many", task("w", 1), minAvailable=3)
    async with Cluster([node("n1")]) as cluster, serving(cluster.url) as (_, url):
        cluster.apply([vcjob("stopped", task("w", 1)), other, many])
        await until(lambda: phase(cluster, "stopped") == "Running")
        command(cluster, "AbortJob", "stopped")
        await until(lambda: phase(cluster, "stopped") == "Aborted")
        told = {}
        for name in ("stopped", "other", "many", "nobody"):
            answer = await ask(f"{url}/explain/default/{name}")
            told[name] = (answer.status, answer.body["error"])
    assert told["stopped"] == (
        404,
        vcjobs_words.suspended("default/stopped"),
    )
    assert told["other"] == (404, vcjobs_words.for_another_scheduler("default/other", "volcano"))
    assert told["many"][1].startswith("vcjob default/many cannot be run: ")
    assert told["nobody"] == (404, answers.not_known(answers.POD_OR_PODGROUP, "default", "nobody", ""))


async def test_what_keeps_the_pods_of_a_vcjob_from_being_created_is_told() -> None:
    wrong = task("w", 2)
    wrong["template"]["spec"]["restartPolicy"] = "Nevr"
    async with Cluster([node("n1")]) as cluster, serving(cluster.url) as (_, url):
        cluster.apply([vcjob("train", wrong)])

        async def told() -> list[str]:
            answer = await ask(f"{url}/explain/default/train")
            return [one["message"] for one in answer.body.get("constraints", ()) if one["code"] == "Refused"]

        [message] = await until_answered(told)
    assert message.startswith(answers.pods_cannot_be_created('Pod train-w-0: Pod "train-w-0" is invalid: '))

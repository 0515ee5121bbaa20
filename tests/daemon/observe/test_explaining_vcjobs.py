"""What somebody is told who asks about a vcjob that has no PodGroup."""

from __future__ import annotations

from tests.support.asking import ask
from tests.support.running import node
from tests.support.serving import serving
from tests.support.vcjob_cluster import command, phase, task, vcjob
from tests.support.waiting import until, until_answered
from vsched.sim.cluster import Cluster


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
        "vcjob default/stopped is Aborted (suspended): vsched job resume default/stopped starts it again",
    )
    assert told["other"] == (404, "vcjob default/other is for scheduler volcano, which this daemon does not serve")
    assert told["many"][1].startswith("vcjob default/many cannot be run: ")
    assert told["nobody"] == (404, "no pod or PodGroup default/nobody is known here")


async def test_what_keeps_the_pods_of_a_vcjob_from_being_created_is_told() -> None:
    wrong = task("w", 2)
    wrong["template"]["spec"]["restartPolicy"] = "Nevr"
    async with Cluster([node("n1")]) as cluster, serving(cluster.url) as (_, url):
        cluster.apply([vcjob("train", wrong)])

        async def told() -> list[str]:
            answer = await ask(f"{url}/explain/default/train")
            return [one["message"] for one in answer.body.get("constraints", ()) if one["code"] == "Refused"]

        [message] = await until_answered(told)
    assert message.startswith('its pods cannot be created: Pod train-w-0: Pod "train-w-0" is invalid: ')

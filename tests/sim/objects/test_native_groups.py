"""Kubernetes' own Workloads and PodGroups in the embedded cluster, from admission to protection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.sim.api_client import PODS, Api, Obj
from tests.support.waiting import until_answered
from vsched.apimachinery.objects.native_groups import PROTECTION, VERSIONS, served_versions
from vsched.errors import BadInput
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

NEWER, OLDER = VERSIONS
GANG = {"gang": {"minCount": 2}}
TEMPLATE = {"name": "t", "schedulingPolicy": GANG}
QUICK = ControllerSettings(PodTimes(termination=0.0))


def at(kind: str, version: str = NEWER) -> str:
    return f"/apis/scheduling.k8s.io/{version}/namespaces/default/{kind}"


@asynccontextmanager
async def server(*versions: str, controllers: ControllerSettings | None = None) -> AsyncIterator[Api]:
    settings = ClusterSettings(controllers, native_groups=versions)
    async with (
        Cluster(1 if controllers else 0, settings=settings) as cluster,
        aiohttp.ClientSession(cluster.url) as session,
    ):
        yield Api(session)


def named(name: str = "g", **spec: Any) -> Obj:
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        pytest.param("", (), id="none by default"),
        pytest.param("scheduling.k8s.io/v1beta1=true", (NEWER,), id="one"),
        pytest.param(
            "scheduling.k8s.io/v1alpha2,scheduling.k8s.io/v1beta1=true", (NEWER, OLDER), id="the best one first"
        ),
        pytest.param("scheduling.k8s.io/v1beta1=false", (), id="one that is switched off"),
    ],
)
def test_versions_are_served_as_the_flag_says(text: str, versions: tuple[str, ...]) -> None:
    assert served_versions(text) == versions


@pytest.mark.parametrize("text", ["batch/v1=true", "scheduling.k8s.io/v2=true", "scheduling.k8s.io/v1beta1=maybe"])
def test_other_versions_are_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(BadInput, match=r"--runtime-config: .* \(expected scheduling.k8s.io/v1beta1=true or"):
        served_versions(text)


async def test_a_cluster_that_was_not_asked_to_serves_none() -> None:
    async with server() as api:
        assert (await api.get(at("podgroups"))).code == 404


async def test_both_versions_show_the_same_group_in_their_own_words() -> None:
    async with server(NEWER, OLDER) as api:
        await api.post(at("workloads"), named("w", podGroupTemplates=[TEMPLATE]))
        reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
        made = named(podGroupTemplateRef=reference, schedulingPolicy=GANG, disruptionMode="PodGroup")
        assert (await api.post(at("podgroups", OLDER), made)).code == 201

        newer, older = [(await api.get(f"{at('podgroups', version)}/g")).body["spec"] for version in VERSIONS]
        assert (newer["disruptionMode"], older["disruptionMode"]) == ({"all": {}}, "PodGroup")
        assert newer["workloadRef"] == {"workloadName": "w", "templateName": "t"}
        assert older["podGroupTemplateRef"] == reference
        assert newer["schedulingPolicy"] == older["schedulingPolicy"] == GANG
        shown = [(await api.get(f"{at('workloads', version)}/w")).body["spec"] for version in VERSIONS]
        modes = [each["podGroupTemplates"][0]["disruptionMode"] for each in shown]
        assert modes == [{"single": {}}, "Pod"]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        pytest.param({"schedulingPolicy": {}}, "must specify one of: `basic`, `gang`", id="no policy"),
        pytest.param(
            {"schedulingPolicy": {**GANG, "basic": {}}},
            "must specify exactly one of: `basic`, `gang`",
            id="two policies",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {"minCount": 0}}}, "must be greater than or equal to 1", id="a gang of nobody"
        ),
        pytest.param(
            {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}},
            "`all` is not allowed with the basic scheduling policy",
            id="all with basic",
        ),
        pytest.param(
            {"schedulingPolicy": GANG, "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            "Too many: 2: must have at most 1 items",
            id="two topology keys",
        ),
        pytest.param(
            {"schedulingPolicy": GANG, "priority": 2_000_000_000, "priorityClassName": ""},
            "must not be provided",
            id="a priority of one's own",
        ),
        pytest.param(
            {"schedulingPolicy": GANG, "parentCompositePodGroupName": "root"},
            "spec.workloadRef: Required value: required with parentCompositePodGroupName",
            id="a parent without a Workload",
        ),
        pytest.param(
            {"schedulingPolicy": GANG, "workloadRef": {"workloadName": "none", "templateName": "t"}},
            'workloads.scheduling.k8s.io "none" not found',
            id="a Workload that is not there",
        ),
        pytest.param(
            {"schedulingPolicy": GANG, "workloadRef": {"workloadName": "w", "templateName": "other"}},
            'workload "w" has no template "other"',
            id="a template that is not there",
        ),
    ],
)
async def test_groups_that_make_no_sense_are_refused(spec: Obj, complaint: str) -> None:
    async with server(NEWER) as api:
        await api.post(at("workloads"), named("w", podGroupTemplates=[TEMPLATE]))
        answer = await api.post(at("podgroups"), named(**spec))
        assert answer.code in (403, 422)
        assert complaint in answer.message


@pytest.mark.parametrize(
    ("version", "change", "code"),
    [
        pytest.param(NEWER, {"schedulingPolicy": {"gang": {"minCount": 5}}}, 200, id="the minimum changes"),
        pytest.param(OLDER, {"schedulingPolicy": {"gang": {"minCount": 5}}}, 422, id="but not in v1alpha2"),
        pytest.param(NEWER, {"schedulingPolicy": {"gang": None, "basic": {}}}, 422, id="the policy stays what it is"),
        pytest.param(NEWER, {"disruptionMode": {"single": None, "all": {}}}, 422, id="the disruption mode stays"),
        pytest.param(NEWER, {"priority": 3}, 422, id="the priority stays"),
    ],
)
async def test_little_of_a_group_changes(version: str, change: Obj, code: int) -> None:
    async with server(version) as api:
        await api.post(at("podgroups", version), named(schedulingPolicy=GANG))
        path = f"{at('podgroups', version)}/g"
        answer = await api.patch(path, {"spec": change})
        assert answer.code == code
        assert (await api.get(path)).body["metadata"]["generation"] == (2 if code == 200 else 1)


async def test_a_workload_has_groups_or_trees_and_keeps_all_but_their_minima() -> None:
    async with server(NEWER) as api:
        tree = {"name": "r", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [TEMPLATE]}
        both = await api.post(
            at("workloads"), named("w", podGroupTemplates=[TEMPLATE], compositePodGroupTemplates=[tree])
        )
        assert "must specify exactly one of: `podGroupTemplates`, `compositePodGroupTemplates`" in both.message
        assert (await api.post(at("workloads"), named("w"))).code == 422
        assert (await api.post(at("workloads"), named("w", podGroupTemplates=[TEMPLATE]))).code == 201
        found = (await api.get(f"{at('workloads')}/w")).body
        found["spec"]["podGroupTemplates"][0]["schedulingPolicy"] = {"gang": {"minCount": 9}}
        assert (await api.put(f"{at('workloads')}/w", found)).code == 200
        found = (await api.get(f"{at('workloads')}/w")).body
        found["spec"]["podGroupTemplates"][0]["name"] = "other"
        assert (await api.put(f"{at('workloads')}/w", found)).code == 422


async def test_a_group_has_the_priority_of_its_class() -> None:
    async with server(NEWER) as api:
        await api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 7})
        made = await api.post(at("podgroups"), named(schedulingPolicy=GANG, priorityClassName="high"))
        assert made.body["spec"]["priority"] == 7
        assert made.body["spec"]["disruptionMode"] == {"single": {}}
        assert made.body["metadata"]["finalizers"] == [PROTECTION]


async def test_a_deleted_group_stays_as_long_as_a_pod_names_it_and_a_tree_as_long_as_a_group_does() -> None:
    async with server(NEWER, controllers=QUICK) as api:
        tree = {"name": "r", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [TEMPLATE]}
        await api.post(at("workloads"), named("w", compositePodGroupTemplates=[tree]))
        root = named("root", schedulingPolicy={"gang": {"minGroupCount": 1}})
        root["spec"]["workloadRef"] = {"workloadName": "w", "templateName": "r"}
        await api.post(at("compositepodgroups"), root)
        child = named(schedulingPolicy=GANG, parentCompositePodGroupName="root")
        child["spec"]["workloadRef"] = {"workloadName": "w", "templateName": "t"}
        assert (await api.post(at("podgroups"), child)).code == 201
        containers = [{"name": "c", "image": "i"}]
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers, "schedulingGroup": {"podGroupName": "g"}}}
        assert (await api.post(PODS, pod)).code == 201

        for path in (f"{at('compositepodgroups')}/root", f"{at('podgroups')}/g"):
            await api.delete(path)
            assert (await api.get(path)).body["metadata"]["deletionTimestamp"]
        await api.delete(f"{PODS}/p")

        async def gone(path: str) -> bool:
            return (await api.get(path)).code == 404

        await until_answered(lambda: gone(f"{at('podgroups')}/g"))
        await until_answered(lambda: gone(f"{at('compositepodgroups')}/root"))

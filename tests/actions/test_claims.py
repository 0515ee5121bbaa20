"""Cycles over clusters whose pods claim volumes: gangs, victims, backfill, admission, and what is written for them."""

from __future__ import annotations

import msgspec
import pytest

from tests.support import volumes as v
from tests.support.plans import Manifest, Plan, decide, manifests, policy_from, policy_of
from tests.support.taking import taking
from vsched.framework.claims.volumes.words import not_bound, not_found
from vsched.framework.policy import Policy
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import OUT_OF_REACH, none_available, said_of_nodes
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, VolumeChoice

POLICY = policy_of("priority gang conformance", "predicates proportion nodeorder")
PREEMPTING = taking("allocate, preempt, backfill", "priority gang-P conformance", "predicates nodeorder")
RECLAIMING = taking("allocate, reclaim, backfill", "priority gang-R conformance proportion", "predicates nodeorder")
ZONES = """
node n1 cpu=4 topology.kubernetes.io/zone=a
node n2 cpu=4 topology.kubernetes.io/zone=b
node n3 cpu=4 topology.kubernetes.io/zone=c
"""


LOCAL = v.storage_class("local", provisioner=v.NO_PROVISIONER)


def decided(text: str, *objects: Manifest, policy: Policy = POLICY, cycles: int = 1) -> Plan:
    """What is decided on the text's objects and these; one pod a line claims ``claim=NAME``."""
    return decide([*manifests(text), v.storage_class(), *objects], policy, cycles=cycles)


def bound(name: str, zone: str, **fields: object) -> tuple[Manifest, Manifest]:
    """A claim and the volume that it is bound to, in a zone."""
    return v.claim(name, volume=f"pv-{name}", **fields), v.volume(f"pv-{name}", claim=f"ns/{name}", zone=zone)


def test_pods_go_where_their_volumes_are() -> None:
    text = f"{ZONES}job ns/a min=3\n" + "".join(f"pods ns/a 1 cpu=1 claim=d{number}\n" for number in range(3))
    plan = decided(text, *bound("d0", "c"), *bound("d1", "a"), *bound("d2", "b"))

    assert plan.nodes == {"a.0": "n3", "a.1": "n1", "a.2": "n2"}
    assert [bind.claims for bind in plan.reports[0].binds] == [None] * 3, "nothing has to be written before"


def test_pods_of_one_role_may_find_nodes_where_others_of_it_do_not() -> None:
    """What one pod finds says nothing of pods with other claims, though they have one role and one shape."""
    text = f"{ZONES}job ns/a min=2\n" + "".join(f"pods ns/a 1 cpu=3 role=db claim=d{number}\n" for number in range(3))
    plan = decided(text, *bound("d0", "nowhere"), *bound("d1", "a"), *bound("d2", "b"))

    assert plan.nodes == {"a.1": "n1", "a.2": "n2"}


def test_a_gang_whose_volumes_leave_no_node_for_one_pod_is_not_placed_at_all() -> None:
    text = f"{ZONES}job ns/a min=2\npods ns/a 1 cpu=3 claim=d0\npods ns/a 1 cpu=3 claim=d1\n"
    plan = decided(text, *bound("d0", "a"), *bound("d1", "a"))

    assert plan.nodes == {}
    assert plan.message("ns/a").startswith(words.needs(words.THE_GANG, 2, 2, 1, 1) + ": ")
    assert f"2 {said_of_nodes(OUT_OF_REACH, 2)}" in plan.message("ns/a")


def test_claims_that_wait_for_their_first_pod_are_chosen_with_it() -> None:
    text = f"{ZONES}job ns/a min=2\npods ns/a 1 cpu=1 claim=d0\npods ns/a 1 cpu=1 claim=d1\n"
    disk = v.volume("disk", zone="b")
    plan = decided(
        text,
        v.claim("d0"),
        v.claim("d1", storage_class="local"),
        disk | {"spec": disk["spec"] | {"storageClassName": "local"}},
        LOCAL,
    )

    assert plan.nodes["a.1"] == "n2"
    assert {bind.name: bind.claims for bind in plan.reports[0].binds} == {
        "a.0": ClaimPlan(volumes=(VolumeChoice("ns/d0", "uid-d0"),), wait=("ns/d0",)),
        "a.1": ClaimPlan(volumes=(VolumeChoice("ns/d1", "uid-d1", "disk"),), wait=("ns/d1",)),
    }


def test_no_two_claims_of_a_gang_get_one_volume() -> None:
    """The pods share their node; each claim gets a volume of its own, the smaller claim the smaller one."""
    text = "node n1 cpu=2\njob ns/a min=2\npods ns/a 1 cpu=1 claim=d0\npods ns/a 1 cpu=1 claim=d1\n"
    disks = [v.volume("large", "3Gi"), v.volume("small", "2Gi")]
    plan = decided(text, v.claim("d0", "2Gi"), v.claim("d1", "1Gi"), *disks)

    chosen = [one.volume for bind in plan.reports[0].binds if bind.claims for one in bind.claims.volumes]
    assert chosen == ["small", "large"]
    assert decided(text, v.claim("d0"), v.claim("d1", storage_class="local"), *disks, LOCAL).nodes == {}


def test_of_a_job_whose_pods_share_a_claim_the_first_pod_has_the_choice() -> None:
    plan = decided(f"{ZONES}job ns/a min=2\npods ns/a 2 cpu=1 claim=d0\n", v.claim("d0", modes=("ReadWriteMany",)))
    first, second = plan.reports[0].binds

    assert first.claims == ClaimPlan(volumes=(VolumeChoice("ns/d0", "uid-d0"),), wait=("ns/d0",))
    assert second.claims == ClaimPlan(wait=("ns/d0",))


@pytest.mark.parametrize(
    ("text", "objects", "message", "told"),
    [
        pytest.param(
            "job ns/a pods=1 cpu=1 claim=d0",
            [],
            not_found(["d0"]),
            none_available(3, not_found(["d0"])),
            id="a claim that does not exist",
        ),
        pytest.param(
            "job ns/a pods=1 cpu=1 claim=d0",
            [v.claim("d0", storage_class="now"), v.storage_class("now", waits=False)],
            not_bound("d0"),
            none_available(3, not_bound("d0")),
            id="a claim that is bound without a pod, and is not yet",
        ),
        pytest.param(
            "job ns/a min=2\npods ns/a 1 cpu=1\npods ns/a 1 cpu=1 claim=d0",
            [],
            words.some_wait(1, "a.1", not_found(["d0"])),
            words.gang_waits("ns/a", words.some_wait(1, "a.1", not_found(["d0"]))),
            id="a gang, and what is said of a pod of it that lacks nothing",
        ),
    ],
)
def test_what_is_said_where_a_claim_cannot_be_used(text: str, objects: list[Manifest], message: str, told: str) -> None:
    plan = decided(ZONES + text, *objects)

    assert plan.nodes == {}
    assert plan.message("ns/a") == message
    assert plan.jobs["ns/a"].code == "Claim"
    assert plan.why("ns/a.0") == told


def test_a_job_beyond_its_minimum_goes_on_without_pods_whose_claims_do_not_exist() -> None:
    plan = decided(f"{ZONES}job ns/a min=1\npods ns/a 1 cpu=1 claim=gone\npods ns/a 2 cpu=1\n")

    assert sorted(plan.nodes) == ["a.1", "a.2"]
    assert plan.why("ns/a.0") == none_available(3, not_found(["gone"]))


@pytest.mark.parametrize(
    ("claim", "evicted"),
    [
        pytest.param("", ["old1.0", "old2.0"], id="without claims, two pods make room for a gang"),
        pytest.param("claim=gone", [], id="a claim that does not exist evicts nobody, for no pod of the gang"),
    ],
)
def test_a_claim_that_does_not_exist_evicts_nobody(claim: str, evicted: list[str]) -> None:
    text = f"{ZONES}class high 9\n"
    for number in (1, 2, 3):
        text += f"job ns/old{number} pods=1 cpu=4 on=n{number} phase=Running\n"
    plan = decided(
        f"{text}job ns/a class=high min=2\npods ns/a 1 cpu=4 {claim}\npods ns/a 1 cpu=4\n", policy=PREEMPTING
    )

    assert sorted(plan.evicted[0]) == evicted
    if claim:
        assert plan.message("ns/a") == words.some_wait(1, "a.0", not_found(["gone"]))


FULL = """
node n1 cpu=8
node n2 cpu=8
class high 9
job ns/old1 pods=1 cpu=1 on=n1 phase=Running
job ns/old2 pods=1 cpu=1 on=n2 phase=Running claim=held
job ns/a class=high pods=1 cpu=1 claim=mine
"""


def test_a_victim_is_found_that_frees_only_an_attachment() -> None:
    """Both nodes have room. On the one node, evicting would not help; on the other, the victim's volume goes."""
    plan = decided(
        FULL,
        v.csi_node("n1", {v.DRIVER: 0}),
        v.csi_node("n2", {v.DRIVER: 1}),
        v.claim("held", volume="pv-held"),
        v.volume("pv-held", claim="ns/held"),
        v.claim("mine", volume="pv-mine"),
        v.volume("pv-mine", claim="ns/mine"),
        policy=PREEMPTING,
        cycles=2,
    )

    assert plan.evicted == [["old2.0"], []]
    assert plan.nodes == {"a.0": "n2"}


@pytest.mark.parametrize("policy", [PREEMPTING, RECLAIMING], ids=["preempt", "reclaim"])
def test_a_claim_for_one_pod_at_a_time_is_taken_from_its_user(policy: Policy) -> None:
    once = ("ReadWriteOncePod",)
    text = """
    node n1 cpu=2
    node n2 cpu=2
    class high 9
    queue mine
    queue other
    job ns/old pods=1 cpu=1 on=n2 phase=Running claim=d0 queue=QUEUE
    job ns/by pods=1 cpu=2 on=n1 phase=Running queue=QUEUE
    job ns/a class=high pods=1 cpu=1 claim=d0 queue=mine
    job ns/b pods=1 cpu=2 queue=mine
    """.replace("QUEUE", "other" if policy is RECLAIMING else "mine")
    plan = decided(
        text, v.claim("d0", volume="pv", modes=once), v.volume(claim="ns/d0", modes=once), policy=policy, cycles=2
    )

    assert plan.evicted == [["old.0"], []]
    assert plan.nodes == {"a.0": "n2"}


def test_a_pod_waits_for_what_a_leaving_pod_still_has() -> None:
    once = ("ReadWriteOncePod",)
    objects = (v.claim("d0", volume="pv", modes=once), v.volume(claim="ns/d0", modes=once))
    text = "node n1 cpu=8\njob ns/old phase=Running\npods ns/old 1 cpu=1 on=n1 leaving claim=d0\n"
    plan = decided(f"{text}job ns/a pods=1 cpu=1 claim=d0\n", *objects)

    assert plan.nodes == {}
    assert [(one.name, one.node) for one in plan.reports[0].nominations] == [("a.0", "n1")]


def test_gangs_of_pods_without_requests_are_placed_as_a_whole() -> None:
    """Such pods are no best-effort tasks, which gangs start without."""
    objects = [v.claim(f"d{number}") for number in range(3)]
    objects += [v.csi_node(f"n{number}", {v.DRIVER: int(number < 3)}) for number in (1, 2, 3)]
    gang = f"{ZONES}job ns/a min=MIN\n" + "".join(f"pods ns/a 1 claim=d{number}\n" for number in range(3))

    assert decided(gang.replace("MIN", "3"), *objects).bound == {}
    assert decided(gang.replace("MIN", "2"), *objects).bound == {"a": 2}
    only = msgspec.structs.replace(POLICY, actions=("backfill",))
    assert decided(gang.replace("MIN", "2"), *objects, policy=only).bound == {}


def test_volumes_bound_the_room_that_is_counted_for_gangs() -> None:
    """The first gang fails for lack of volumes on nodes; the second, which is alike, is refused by counting."""
    text = "node n1 cpu=64\nnode n2 cpu=64\n"
    objects = [v.csi_node("n1", {v.DRIVER: 1}), v.csi_node("n2", {v.DRIVER: 1})]
    for job in ("a", "b"):
        text += f"job ns/{job} min=3\n"
        for number in range(3):
            text += f"pods ns/{job} 1 cpu=1 claim={job}{number}\n"
            objects.append(v.claim(f"{job}{number}"))
    plan = decided(text, *objects)

    assert plan.nodes == {}
    for job in ("a", "b"):
        assert plan.message(f"ns/{job}").startswith("the gang needs 3, 2 fit"), plan.message(f"ns/{job}")
        assert "cannot attach more volumes" in plan.message(f"ns/{job}")


def test_a_job_without_the_claims_for_its_minimum_is_not_admitted() -> None:
    text = f"{ZONES}job ns/a phase=Pending min=1 minResources=cpu:1\npods ns/a 1 cpu=1 claim=d0\n"

    assert decided(text).phases() == {"a": "Pending"}
    assert decided(text).message("ns/a") == not_found(["d0"])
    assert decided(text, v.claim("d0")).phases() == {"a": "Inqueue"}


def test_a_node_that_was_selected_in_vain_is_given_back() -> None:
    text = f"{ZONES}job ns/big pods=1 cpu=4 on=n2 phase=Running\njob ns/a pods=1 cpu=4 claim=d0\n"
    plan = decided(text, v.claim("d0", selected_node="n2"))

    assert plan.nodes == {}
    (release,) = plan.reports[0].released
    assert release == ClaimRelease("ns/d0", "uid-d0", False, "ns/a", release.reason)
    kept = decided(text, v.claim("d0", selected_node="n1"))
    assert kept.nodes == {"a.0": "n1"}
    assert kept.reports[0].released == ()


ARGUMENTS = """\
actions: allocate
tiers:
- plugins:
  - name: gang
  - name: predicates
    arguments: {arguments}
"""


@pytest.mark.parametrize(
    ("arguments", "node"),
    [
        pytest.param("{}", "n2", id="the labels of a volume say its zone"),
        pytest.param("{predicate.VolumeZoneEnable: false}", "n1", id="unless they are not to count"),
    ],
)
def test_arguments_of_predicates_say_what_counts(arguments: str, node: str) -> None:
    pv = v.volume("pv", claim="ns/d0", metadata={"labels": {v.ZONE: "b"}})
    plan = decided(
        f"{ZONES}job ns/a pods=1 cpu=1 claim=d0\n",
        v.claim("d0", volume="pv"),
        pv,
        policy=policy_from(ARGUMENTS.format(arguments=arguments)),
    )

    assert plan.nodes == {"a.0": node}

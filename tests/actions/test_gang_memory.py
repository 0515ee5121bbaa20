"""A search for places of a gang that came to nothing is made again only once something has changed that matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import devices
from tests.support.examples import examples
from tests.support.plans import NOW, Manifest, manifests, mirror, policy_of
from vsched.actions.gang_memory import OWNER
from vsched.api.manifests import Origin, decode_manifests
from vsched.framework.cycle import run_cycle
from vsched.model.memo import Memo, Mode
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("gang", "predicates nodeorder", actions="allocate")
TYPE = f"device.attributes['{devices.DRIVER}'].type"


class Cluster:
    """A cluster that sessions with one memo decide on, which is proved."""

    def __init__(self, objects: Iterable[Manifest]) -> None:
        self.mirror = mirror(objects)
        self._memo = Memo(Mode.PROVE)

    def change(self, objects: Iterable[Manifest], how: str = "ADDED") -> None:
        """Objects come, change or go."""
        decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(objects))
        for kind, found in decoded.objects.items():
            for one in found:
                self.mirror.intake.apply(kind, how, one)

    def decide(self) -> dict[str, str]:
        """Where a session places pods, by name; what it decides comes true."""
        report = run_cycle(self.mirror.snapshot(NOW), GANGS, REGISTRY, memo=self._memo)
        self.mirror.settle(report)
        return {bind.name: bind.node for bind in report.binds}

    def searches(self) -> tuple[int, int]:
        """How many searches were known to come to nothing, and how many were made, since this was last asked."""
        return self._memo.counted().get(OWNER, (0, 0))


def device(name: str, kind: str) -> Manifest:
    return devices.device(name, attributes={"type": kind})


def claiming(pods: Iterable[Manifest], wanted: Sequence[str]) -> Iterator[Manifest]:
    """Each pod with a claim of its own for one device of some types, as ``a,b``."""
    left = list(wanted)
    for one in pods:
        if one["kind"] == "Pod" and left:
            types, name = left.pop(0).split(","), f"claim-of-{one['metadata']['name']}"
            named = ", ".join(f"'{kind}'" for kind in types)
            yield devices.resource_claim(name, devices.request("r", 1, f"{TYPE} in [{named}]"))
            one["spec"]["resourceClaims"] = devices.pod_claims(devices=name)
        yield one


def hopeless_claims() -> list[Manifest]:
    """Each kind of pods finds devices by itself; together they need four of three."""
    nodes = manifests("node n1 cpu=8\nnode n2 cpu=8\nnode full cpu=1")
    gang = manifests("job ns/a min=4\npods ns/a 4 cpu=2")
    return [
        *nodes,
        devices.device_class(),
        devices.resource_slice("n1", [device("d0", "a"), device("d1", "b")]),
        devices.resource_slice("n2", [device("d2", "a")]),
        *claiming(gang, ["a", "a", "a,b", "a,b"]),
    ]


def hopeless_neighbours() -> list[Manifest]:
    """Two pods are to be in a zone each, and there is one of the same labels in one of two zones."""
    text = """
    node n1 cpu=4 zone=a
    node n2 cpu=4 zone=b
    node full cpu=1 zone=a
    job ns/taken min=1
    pods ns/taken 1 cpu=1 on=n1 labels=app:x
    job ns/a min=3
    pods ns/a 2 cpu=2 role=wide labels=app:x
    pods ns/a 1 cpu=2 role=other
    """
    objects = manifests(text)
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for one in objects:
        if one["metadata"]["name"] in ("a.0", "a.1"):
            one["spec"]["affinity"] = apart
    return objects


def known(objects: Iterable[Manifest]) -> Cluster:
    """A cluster once its gang is known not to fit."""
    cluster = Cluster(objects)
    for _ in range(2):  # the first session also admits the job
        assert cluster.decide() == {}
    assert cluster.searches()[1]
    return cluster


@pytest.mark.parametrize("objects", [hopeless_claims, hopeless_neighbours])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param("", id="nothing"),
        pytest.param("job ns/new min=1\npods ns/new 1 cpu=99", id="a job comes"),
        pytest.param("job ns/new min=1\npods ns/new 1 cpu=1 on=full labels=app:y", id="a pod starts elsewhere"),
    ],
)
def test_no_search_is_made_again_where_nothing_has_changed_that_matters(
    objects: Callable[[], list[Manifest]], change: str
) -> None:
    cluster = known(objects())
    cluster.change(manifests(change))
    cluster.decide()
    assert cluster.searches()[1] == 0


def test_claims_of_others_that_have_nothing_yet_do_not_matter() -> None:
    cluster = known(hopeless_claims())
    cluster.change(claiming(manifests("job ns/new min=1\npods ns/new 1 cpu=99"), ["a"]))
    cluster.decide()
    assert cluster.searches() == (1, 0)


def test_a_gang_is_searched_again_once_there_is_another_device() -> None:
    cluster = known(hopeless_claims())
    cluster.change([devices.resource_slice("n2", [device("d2", "a"), device("d3", "b")])])
    assert sorted(cluster.decide()) == ["a.0", "a.1", "a.2", "a.3"]


def test_a_gang_is_searched_again_once_a_pod_has_left_that_its_rules_are_about() -> None:
    objects = hopeless_neighbours()
    cluster = known(objects)
    cluster.change([one for one in objects if one["metadata"]["name"] == "taken.0"], "DELETED")
    assert sorted(cluster.decide()) == ["a.0", "a.1", "a.2"]


CHANGES = (
    "job ns/new min=1\npods ns/new 1 cpu=1 on=n1 labels=app:x",
    "job ns/new min=1\npods ns/new 1 cpu=1 on=n2 labels=app:y",
    "job ns/new min=2\npods ns/new 2 cpu=2 labels=app:x",
    "job ns/other min=2\npods ns/other 1 cpu=1 port=80\npods ns/other 1 cpu=4",
    "node n1 cpu=8 zone=a",
    "node n3 cpu=4 zone=b",
)


@settings(deadline=None, max_examples=examples(20))
@given(
    st.sampled_from([hopeless_claims, hopeless_neighbours]),
    st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(["ADDED", "DELETED"])), max_size=4),
)
def test_sessions_decide_the_same_as_if_each_search_were_made(
    objects: Callable[[], list[Manifest]], changes: list[tuple[str, str]]
) -> None:
    """It is proved in each session."""
    cluster = known(objects())
    for change, how in changes:
        cluster.change(manifests(change), how)
        cluster.decide()

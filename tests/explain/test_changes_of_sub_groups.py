"""What would help a job with sub-groups: wider tiers of a policy, fewer sub-groups, smaller ones."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY
from tests.support.topologies import RACKS, snapshot_of
from vsched.explain.changes import changes
from vsched.explain.edits.base import Edit
from vsched.explain.edits.subgroups import SetMinSubGroups, SetSubGroupSize, SetSubGroupTier
from vsched.explain.records import Change
from vsched.explain.situation import Situation, apply_all
from vsched.explain.words import edits
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.trace import Trace
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.settings.built_in import REGISTRY

NODES = "".join(f"node n{number} cpu=4\n" for number in range(1, 9))
RACK, BLOCK, NAMED = NetworkTopology(highest_tier=1), NetworkTopology(highest_tier=2), NetworkTopology(tier_name="rack")
ONE_A_RACK = "".join(
    f"job x/f{n} min=1 phase=Running\npods x/f{n} 1 cpu=4 on=n{n} volcano.sh/preemptable=false\n" for n in (1, 3, 5, 7)
)
"""Each rack has one free node."""


def workers(
    size: int, minimum: int, topology: NetworkTopology | None = None, name: str = "worker", key: str = "w"
) -> SubGroupPolicy:
    return SubGroupPolicy(name, size, minimum, match_keys=(key,), topology=topology)


def gang(*groups: str, minimum: int, cpu: int = 4, more: str = "") -> str:
    """The job ns/a with sub-groups ``label:value:pods``; ``more`` is said of each pod."""
    text = f"job ns/a min={minimum} phase=Inqueue\n"
    for group in groups:
        label, _, count = group.rpartition(":")
        text += f"pods ns/a {count} cpu={cpu} labels={label} {more}\n"
    return text


def world(text: str, policies: Sequence[SubGroupPolicy], wish: NetworkTopology | None = None) -> Snapshot:
    snapshot = snapshot_of(text, RACKS, {} if wish is None else {"ns/a": wish})
    job = snapshot.jobs["ns/a"]
    job.spec = msgspec.structs.replace(job.spec, sub_groups=tuple(policies))
    return snapshot


def found(snapshot: Snapshot) -> tuple[Change, ...]:
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    return changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns/a", most=20).changes


def starts(snapshot: Snapshot, edits: Sequence[Edit]) -> bool:
    """Whether the job starts in a whole cycle after these edits."""
    edited = apply_all(Situation(snapshot, DEFAULT_POLICY), edits)
    view = run_actions(edited.snapshot, edited.policy, REGISTRY, Trace()).jobs["ns/a"]
    return view.is_pipelined


@pytest.mark.parametrize(
    ("text", "policies", "wish", "message"),
    [
        pytest.param(
            ONE_A_RACK + gang("w:a:2", "w:b:2", minimum=4),
            [workers(2, 2, RACK)],
            None,
            edits.highest_tier_of_sub_groups(2, "worker", "1"),
            id="the next tier for each sub-group",
        ),
        pytest.param(
            ONE_A_RACK + gang("w:a:4", minimum=4),
            [workers(4, 1, NAMED)],
            None,
            edits.highest_tier_of_sub_groups(3, "worker", "rack"),
            id="the closest tier with room, where the limit is a name",
        ),
        pytest.param(
            ONE_A_RACK + gang("w:a:2", minimum=2),
            [workers(2, 1, RACK, name="")],
            BLOCK,
            edits.highest_tier_of_sub_groups(2, "subGroupPolicy[0]", "1"),
            id="inside the domain of the job",
        ),
        pytest.param(
            ONE_A_RACK + gang("w:a:2", "v:a:2", minimum=4, more="port=80"),
            [workers(2, 1, RACK), workers(2, 1, RACK, name="server", key="v")],
            None,
            " and ".join(edits.highest_tier_of_sub_groups(2, policy, "1") for policy in ("worker", "server")),
            id="two policies together, where one is not enough",
        ),
        pytest.param(
            NODES.replace("n7", "m7").replace("n8", "m8") + gang("w:a:2", "w:b:2", "w:c:2", "w:d:2", minimum=8),
            [workers(2, 4, RACK)],
            None,
            edits.minimum_of_sub_groups(3, "worker", 1) + edits.and_min_member(6),
            id="fewer sub-groups",
        ),
        pytest.param(
            ONE_A_RACK + gang("w:a:2", "w:b:2", minimum=4),
            [workers(2, 2, RACK)],
            None,
            edits.size_of_sub_groups(1, "worker", 1) + edits.and_min_member(2),
            id="smaller sub-groups",
        ),
        pytest.param(
            ONE_A_RACK + gang("w:a:2", "w:b:2", minimum=1),
            [workers(2, 2, RACK)],
            None,
            edits.size_of_sub_groups(1, "worker", 1),
            id="a minimum of the gang that is met already stays",
        ),
    ],
)
def test_what_would_help(
    text: str, policies: Sequence[SubGroupPolicy], wish: NetworkTopology | None, message: str
) -> None:
    text = text if "node" in text else NODES + text
    assert message in [one.message.partition(", in ")[0] for one in found(world(text, policies, wish))]


@pytest.mark.parametrize(
    "topology",
    [
        pytest.param(NetworkTopology(hard=False), id="soft"),
        pytest.param(NetworkTopology(), id="hard without a limit"),
        pytest.param(NetworkTopology(highest_tier=4), id="the whole cluster is allowed"),
        pytest.param(None, id="no wish"),
    ],
)
def test_no_wider_tier_is_proposed_where_none_is_ruled_out(topology: NetworkTopology | None) -> None:
    text = NODES + gang("w:a:9", minimum=9)
    assert not any("highestTier" in one.message for one in found(world(text, [workers(9, 1, topology)])))


@settings(max_examples=examples(20), deadline=None)
@given(
    st.lists(st.sampled_from((0, 2, 4)), min_size=8, max_size=8),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2),
)
def test_every_change_lets_the_job_start_and_is_the_least(
    held: list[int], size: int, minimum: int, tier: int, more: int
) -> None:
    text = NODES + "".join(
        f"job x/f{n} min=1 phase=Running\npods x/f{n} 1 cpu={cpu} on=n{n}\n" for n, cpu in enumerate(held, 1) if cpu
    )
    groups = [f"w:{letter}:{size}" for letter in "abcd"[:minimum]]
    text += gang(*groups, minimum=max(1, size * minimum - more), cpu=2)
    snapshot = world(text, [workers(size, minimum, NetworkTopology(highest_tier=tier))])
    for change in found(snapshot):
        assert starts(snapshot, change.edits)
        if len(change.edits) > 1:
            continue
        match change.edits[0]:
            case SetSubGroupTier() as edit:
                assert edit.tier == tier + 1 or not starts(snapshot, [SetSubGroupTier("ns/a", 0, edit.tier - 1)])
            case SetMinSubGroups() as edit:
                less = SetMinSubGroups("ns/a", 0, edit.minimum + 1, edit.members + size)
                assert edit.minimum + 1 == minimum or not starts(snapshot, [less])
            case SetSubGroupSize() as edit:
                less_small = SetSubGroupSize("ns/a", 0, edit.size + 1, edit.members + minimum)
                assert edit.size + 1 == size or not starts(snapshot, [less_small])

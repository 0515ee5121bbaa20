"""Queues, quotas and admission: situations in which rules bind, and nodes do not."""

from __future__ import annotations

from tests.explain.stuck.case import CAPACITY, GI, LIMITS, QUOTAS, TREE, Case
from tests.support.plans import DEFAULT_POLICY, policy_from, policy_of
from vsched.explain.edits.jobs import SetJobQueue, SetMinMember, SetMinResources, SetRoleMinimum
from vsched.explain.edits.namespaces import SetQuota
from vsched.explain.edits.pods import AddPods, RemoveGates, SetRequest
from vsched.explain.edits.policy import SetArgument, SetOvercommit
from vsched.explain.edits.queues import (
    LowerGuarantee,
    OpenQueue,
    SetJobLimit,
    SetQueueAmount,
    SetQueueWeight,
    SetWallTime,
)
from vsched.framework.codes import Code

ORG = "node n1 cpu=32\nqueue org capability=memory:8Gi\nqueue dept parent=org capability=memory:16Gi\n"
OF_USER = policy_from(
    """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}]
- plugins: [{name: job-limits, arguments: {maxRunningJobsOfUser: 1}}]
"""
)
PROMISED = policy_of("priority gang", "predicates overcommit nodeorder")

CASES: dict[str, Case] = {
    "the queue two above has no memory left, and cpu is plentiful": Case(
        f"{ORG}queue team parent=dept\nqueue other parent=dept\n"
        "job ns/a queue=other phase=Running\npods ns/a 1 cpu=1 memory=6Gi on=n1\n"
        "job ns/b pods=1 cpu=1 memory=4Gi queue=team",
        Code.QUEUE_CAPABILITY,
        "org|8Gi memory|6Gi|4Gi",
        [(SetQueueAmount("org", "capability", "memory", 10 * GI),)],
        TREE,
    ),
    "a pod is larger than the memory of the queue two above": Case(
        f"{ORG}queue team parent=dept\njob ns/b pods=1 cpu=1 memory=12Gi queue=team",
        Code.QUEUE_CAPABILITY,
        "org|8Gi memory|12Gi",
        [(SetRequest("ns/b", "memory", 8 * GI),), (SetQueueAmount("org", "capability", "memory", 12 * GI),)],
        TREE,
        never=True,
    ),
    "a queue may hold two pods, however small": Case(
        "node n1 cpu=8\nqueue q capability=pods:2\njob ns/a queue=q phase=Running\npods ns/a 2 cpu=100m on=n1\n"
        "job ns/b pods=1 cpu=100m queue=q",
        Code.QUEUE_CAPABILITY,
        "q|2 pods",
        [(SetQueueAmount("q", "capability", "pods", 3),)],
        CAPACITY,
    ),
    "a queue may hold none of an accelerator": Case(
        "node n1 cpu=8 gpu=4\nqueue q capability=gpu:0\njob ns/b pods=1 cpu=1 gpu=1 queue=q",
        Code.QUEUE_CAPABILITY,
        "q|0 example.com/gpu|1",
        [(SetQueueAmount("q", "capability", "example.com/gpu", 1000),)],
        CAPACITY,
        never=True,
    ),
    "the queue is closed, and the job larger than its capability": Case(
        "node n1 cpu=8\nqueue q capability=cpu:2 state=Closed\njob ns/b pods=1 cpu=5 queue=q",
        Code.QUEUE_CLOSED,
        "q is Closed",
        [(OpenQueue("q"), SetQueueAmount("q", "capability", "cpu", 5000))],
        CAPACITY,
        never=True,
    ),
    "what another queue is guaranteed of an accelerator leaves too few": Case(
        "node n1 cpu=16 gpu=4\nqueue a guarantee=gpu:2\nqueue q\njob ns/b pods=1 cpu=1 gpu=3 queue=q",
        Code.QUEUE_SHARE,
        "queue a|queue q|2 of 4 example.com/gpu|3",
        [(LowerGuarantee("a", "example.com/gpu", 1000),)],
        CAPACITY,
        never=True,
    ),
    "a queue of small weight holds what it deserves while another waits": Case(
        "node n1 cpu=8\nqueue a weight=3\nqueue q weight=1\njob ns/h queue=q phase=Running\npods ns/h 2 cpu=1 on=n1\n"
        "job ns/w min=9 pods=9 cpu=1 queue=a age=60\njob ns/b pods=1 cpu=1 queue=q",
        Code.QUEUE_SHARE,
        "q|2 cpu|1",
        [(SetQueueWeight("q", 2),)],
        DEFAULT_POLICY,
    ),
    "its queue is written with a capital letter": Case(
        "node n1 cpu=4\nqueue research\njob ns/b pods=1 cpu=1 queue=Research",
        Code.QUEUE_NOT_FOUND,
        "Research does not exist",
        [(SetJobQueue("ns/b", "research"),)],
        never=True,
    ),
    "a job in the root of the tree": Case(
        "node n1 cpu=4\nqueue root\nqueue team parent=root deserved=cpu:4\njob ns/b pods=1 cpu=1 queue=root",
        Code.QUEUE_NOT_LEAF,
        "root",
        [(SetJobQueue("ns/b", "team"),)],
        TREE,
        never=True,
    ),
    "each user may run one job in the queue": Case(
        "node n1 cpu=8\nqueue q vsched.io/max-running-jobs-per-user=1\n"
        "job ns/a queue=q phase=Running vsched.io/user=ann\npods ns/a 1 cpu=1 on=n1\n"
        "job ns/b pods=1 cpu=1 queue=q vsched.io/user=ann",
        Code.RUNNING_JOBS,
        "ann|1",
        [(SetJobLimit("q", 2, per_user=True),)],
        LIMITS,
        also="running now: ns/a",
    ),
    "a queue whose limit on running jobs is 0": Case(
        "node n1 cpu=8\nqueue q vsched.io/max-running-jobs=0\njob ns/b pods=1 cpu=1 queue=q",
        Code.RUNNING_JOBS,
        "q may run no job",
        [(SetJobLimit("q", 1),)],
        LIMITS,
        never=True,
    ),
    "the department runs as many jobs as it may, in another team": Case(
        "node n1 cpu=8\nqueue dept vsched.io/max-running-jobs=1\nqueue team parent=dept\nqueue other parent=dept\n"
        "job ns/a queue=other phase=Running\npods ns/a 1 cpu=1 on=n1\njob ns/b pods=1 cpu=1 queue=team",
        Code.RUNNING_JOBS,
        "dept|1",
        [(SetJobLimit("dept", 2),)],
        policy_of("priority gang", "predicates job-limits nodeorder"),
        also="running now: ns/a",
    ),
    "minResources larger than the capability, and pods that are not": Case(
        "node n1 cpu=16\nqueue q capability=cpu:4\njob ns/b min=2 pods=2 cpu=1 minResources=cpu:6 queue=q",
        Code.QUEUE_CAPABILITY,
        "q|4 cpu|6",
        [(SetMinResources("ns/b", {"cpu": 4000}),)],
        CAPACITY,
        never=True,
    ),
    "minResources name an accelerator that no pod asks for and no node has": Case(
        "node n1 cpu=16\njob ns/b min=2 pods=2 cpu=1 minResources=cpu:2,gpu:1",
        Code.RESOURCES,
        "example.com/gpu|1",
        [(SetMinResources("ns/b", {"example.com/gpu": 0}),)],
        PROMISED,
        never=True,
    ),
    "more is admitted than the cluster has, and minResources may be less": Case(
        "node n1 cpu=10\njob ns/a min=8 minResources=cpu:8 phase=Inqueue age=60\n"
        "job ns/b min=5 pods=5 cpu=1 minResources=cpu:5",
        Code.ORDER,
        "8 of 12 cpu|5",
        [(SetMinMember("ns/b", 4, {"cpu": 4000}),), (SetOvercommit(1.3),)],
        PROMISED,
    ),
    "a quota of pods": Case(
        "node n1 cpu=8\nquota ns/small pods=2 used=pods:2\njob ns/b min=1 pods=1 cpu=1 minResources=cpu:1,pods:2",
        Code.QUOTA,
        "small|pods|2",
        [(SetQuota("ns", "small", "pods", 3),)],
        QUOTAS,
    ),
    "a quota of limits": Case(
        "node n1 cpu=8\nquota ns/small limits.cpu=2\njob ns/b min=1 pods=1 cpu=1 minResources=cpu:1,limits.cpu:4",
        Code.QUOTA,
        "small|limits.cpu|2|4",
        [(SetQuota("ns", "small", "limits.cpu", 4000),)],
        QUOTAS,
        never=True,
    ),
    "a quota refuses the third pod of the gang": Case(
        "node n1 cpu=8\nquota ns/small requests.cpu=2 used=requests.cpu:2\njob ns/b min=3 pods=2 cpu=1",
        Code.QUOTA,
        "ResourceQuota small allows 2 requests.cpu: 2 used, 1 missing pod asks for 1; 2 of the gang's 3 pods exist",
        [(SetQuota("ns", "small", "requests.cpu", 3000), AddPods("ns/b", "b.0", 1)), (SetMinMember("ns/b", 2),)],
    ),
    "a quota refuses the pods that a role lacks": Case(
        "node n1 cpu=8\nquota ns/small pods=1 used=pods:1\njob ns/b min=3 roles=w:3\npods ns/b 1 cpu=1 role=w",
        Code.QUOTA,
        "small allows 1 pods: 1 used, 2 missing pods ask for 2; role w has 1 of the 3 pods",
        [(SetQuota("ns", "small", "pods", 3), AddPods("ns/b", "b.0", 2, "w"))],
    ),
    "two quotas bind, and each alone is not enough": Case(
        "node n1 cpu=8\nquota ns/one requests.cpu=2 used=requests.cpu:2\nquota ns/two requests.memory=1Gi\n"
        "job ns/b min=1 pods=1 cpu=1 memory=1Gi minResources=cpu:2,memory:2Gi",
        Code.QUOTA,
        "two|1Gi requests.memory|2Gi",
        [(SetQuota("ns", "one", "requests.cpu", 3000), SetQuota("ns", "two", "requests.memory", 2 * GI))],
        QUOTAS,
        never=True,
    ),
    "its wall time is longer than its queue allows, and there is room": Case(
        "node n1 cpu=8\nqueue q vsched.io/max-wall-time=1h\njob ns/b pods=1 cpu=1 queue=q vsched.io/wall-time=90m",
        Code.WALL_TIME,
        "1h30m|q|1h",
        [(SetWallTime("q", 5400.0),)],
        LIMITS,
        never=True,
    ),
    "the queue is closed, and gates hold back the pods": Case(
        "node n1 cpu=8\nqueue q state=Closed\njob ns/b min=2 queue=q\npods ns/b 2 cpu=1 gated",
        Code.QUEUE_CLOSED,
        "q is Closed",
        [(OpenQueue("q"), RemoveGates("ns/b"))],
        CAPACITY,
    ),
    "the queue was closed after it was admitted, and gates hold back the pods": Case(
        "node n1 cpu=8\nqueue q state=Closed\njob ns/b min=2 queue=q phase=Inqueue\npods ns/b 2 cpu=1 gated",
        Code.QUEUE_CLOSED,
        "q is Closed",
        [(OpenQueue("q"), RemoveGates("ns/b"))],
        CAPACITY,
    ),
    "a pod is missing, and the queue has room for the pods that exist only": Case(
        "node n1 cpu=8\nqueue q capability=cpu:2\njob ns/b min=3 pods=2 cpu=1 queue=q age=90",
        Code.GANG_INCOMPLETE,
        "2 of|3",
        [(SetMinMember("ns/b", 2),)],
        CAPACITY,
        never=True,
    ),
    "capability is enough in cpu, short in two accelerators": Case(
        "node n1 cpu=16 gpu=8 nvidia=8\nqueue q capability=cpu:16,gpu:1,nvidia:1\n"
        "job ns/b pods=1 cpu=1 gpu=2 nvidia=2 queue=q",
        Code.QUEUE_CAPABILITY,
        "q|1 example.com/gpu|2",
        [
            (
                SetQueueAmount("q", "capability", "example.com/gpu", 2000),
                SetQueueAmount("q", "capability", "nvidia.com/gpu", 2000),
            )
        ],
        CAPACITY,
        never=True,
    ),
    "a user may run one job in the whole cluster, and runs one in another queue": Case(
        "node n1 cpu=8\nqueue q\njob ns/a queue=q phase=Running vsched.io/user=ann\npods ns/a 1 cpu=1 on=n1\n"
        "job ns/b pods=1 cpu=1 queue=default vsched.io/user=ann",
        Code.RUNNING_JOBS,
        "ann|1",
        [(SetArgument("job-limits", "maxRunningJobsOfUser", 2.0),)],
        OF_USER,
        also="running now: ns/a",
    ),
    "missing pods of a role, where the queue is full too": Case(
        "node n1 cpu=8\nqueue q capability=cpu:2\njob ns/b min=3 roles=ps:1,w:2 queue=q\npods ns/b 2 cpu=1 role=w",
        Code.GANG_INCOMPLETE,
        "role ps|0 of the 1",
        [(SetRoleMinimum("ns/b", "ps", 0, 2),)],
        CAPACITY,
    ),
}

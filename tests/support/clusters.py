"""Small random clusters in the language of ``tests.support.plans``: short to read when a test finds one that fails."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

NODES = ("n1", "n2", "n3")
QUEUES = ("a", "b", "default")
NAMESPACES = ("x", "y")
rarely = st.sampled_from([False] * 7 + [True])


seeded = st.integers(0, 2**32 - 1).map(Random)
"""Random numbers from a drawn seed, for shuffling: ``st.randoms`` takes a draw for each of them."""


@st.composite
def nodes(draw: st.DrawFn, name: str) -> str:
    words = [f"node {name} cpu={draw(st.integers(2, 8))} memory={draw(st.integers(4, 9))}Gi"]
    words.append(f"pods={draw(st.sampled_from([110, 110, 4]))} zone={draw(st.sampled_from('ab'))}")
    words.append(f"gpu={draw(st.integers(0, 2))} disk={draw(st.integers(0, 4))}Gi")
    if draw(rarely):
        words.append("cordoned")
    if draw(rarely):
        words.append("taint=dedicated:yes")
    return " ".join(words)


@st.composite
def queues(draw: st.DrawFn, name: str) -> str:
    words = [f"queue {name} weight={draw(st.integers(1, 3))} priority={draw(st.integers(0, 1))}"]
    limits = [f"{resource}:{draw(st.integers(1, 6))}" for resource in ("cpu", "gpu") if draw(rarely)]
    if limits:
        words.append(f"capability={','.join(limits)}")
    if draw(rarely):
        words.append(f"guarantee=cpu:{draw(st.integers(1, 3))}")
    if draw(rarely):
        words.append("state=Closed")
    return " ".join(words)


@st.composite
def pods(draw: st.DrawFn, key: str) -> str:
    words = [f"pods {key} {draw(st.integers(1, 5))} cpu={draw(st.sampled_from(['1', '2', '500m', '3', '1', '0']))}"]
    words.append(f"age={draw(st.integers(0, 2))} priority={draw(st.integers(0, 1))}")
    if draw(st.booleans()):
        words.append(f"memory={draw(st.integers(1, 3))}Gi")
    for resource, amount in (("gpu", "1"), ("disk", "1Gi")):
        if draw(rarely):
            words.append(f"{resource}={amount}")
    if draw(rarely):
        words.append(f"selector=zone:{draw(st.sampled_from('abc'))}")
    if draw(rarely):
        words.append("tolerates=dedicated")
    if draw(rarely):
        words.append(f"role={draw(st.sampled_from(['ps', 'worker']))}")
    if draw(rarely):
        words.append(f"nominated={draw(st.sampled_from(NODES))}")
    if draw(st.sampled_from([False, False, False, True])):
        state = draw(st.sampled_from(["running", "running", "leaving", "leaving", "bound", "succeeded", "failed"]))
        words.append(f"on={draw(st.sampled_from(NODES))} {state}")
    elif draw(rarely):
        words.append("gated")
    return " ".join(words)


@st.composite
def jobs(draw: st.DrawFn, name: str) -> list[str]:
    key = f"{draw(st.sampled_from(NAMESPACES))}/{name}"
    words = [f"job {key} min={draw(st.sampled_from([1, 2, 3, 4, 0]))} age={draw(st.integers(0, 2))}"]
    words.append(f"queue={draw(st.sampled_from([*QUEUES, *QUEUES, *QUEUES, 'nowhere']))}")
    words.append(f"phase={draw(st.sampled_from(['Pending', 'Inqueue', 'Inqueue', 'Running', 'Unknown']))}")
    if draw(rarely):
        words.append("class=high")
    if draw(rarely):
        words.append(f"roles=ps:{draw(st.integers(0, 2))},worker:{draw(st.integers(0, 2))}")
    if draw(st.sampled_from([False, False, True])):
        words.append(f"minResources=cpu:{draw(st.integers(1, 6))}")
    return [" ".join(words), *draw(st.lists(pods(key), min_size=1, max_size=3))]


@st.composite
def clusters(draw: st.DrawFn) -> str:
    """Nodes, queues by weight and capability, and gangs with minima, roles, pods that run, leave or wait."""
    lines = ["class high 9", *(draw(nodes(name)) for name in NODES[: draw(st.integers(1, 3))])]
    lines += [draw(queues(name)) for name in QUEUES[: draw(st.sampled_from([3, 2, 3]))]]
    if draw(st.booleans()):
        lines.append(f"pods x/old {draw(st.integers(1, 2))} cpu={draw(st.integers(1, 3))} on=n1 leaving")
    lines += [f"weight {name} {draw(st.integers(1, 3))}" for name in NAMESPACES if draw(st.booleans())]
    for number in range(draw(st.integers(1, 5))):
        lines += draw(jobs(f"j{number}"))
    return "\n".join(lines)


# -- clusters that are full ----------------------------------------------------------------------------------------

PLACES = {"a": ("root/dept/a", "1/1/2"), "b": ("root/dept/b", "1/1/1"), "c": ("root/c", "1/3")}
"""Where the leaf queues are in the tree that annotations describe."""


@st.composite
def contended(draw: st.DrawFn, *, ruled: bool = True) -> str:
    """Nodes that are mostly full, queues in a tree, jobs that run and jobs that wait; without rules, amounts decide."""
    random: Random = draw(st.randoms(use_true_random=False))
    lines, free = ["class high 5", "class higher 9"], dict[str, list[int]]()
    for number in range(random.randint(1, 4)):
        cpu, gpu = random.randint(2, 7), random.randint(0, 3)
        lines.append(f"node n{number} cpu={cpu} gpu={gpu} memory={random.choice([64, 8])}Gi")
        free[f"n{number}"] = [cpu, gpu]
    for name, parent in (("dept", "root"), ("a", "dept"), ("b", "dept"), ("c", "root")):
        lines.append(_contended_queue(random, name, parent))
    if random.random() < 0.3:
        lines.append("weight x 2")
    for number in range(random.randint(2, 9)):
        lines += _contended_job(
            random, f"j{number}", free, runs=random.random() < (0.9 if number < 4 else 0.4), ruled=ruled
        )
    return "\n".join(lines)


def _contended_queue(random: Random, name: str, parent: str) -> str:
    words = [f"queue {name} parent={parent} weight={random.randint(1, 3)}"]
    if random.random() < 0.12:
        words.append(f"priority={random.randint(0, 2)}")
    if random.random() < 0.1 and name in PLACES:
        words.append("reclaimable=false")
    if random.random() < 0.7:
        memory = f",memory:{random.randint(1, 16)}Gi" if random.random() < 0.4 else ""
        words.append(f"deserved=cpu:{random.randint(1, 8)},gpu:{random.randint(0, 3)}{memory}")
    if random.random() < 0.25:
        words.append(f"guarantee=cpu:{random.randint(1, 2)}")
    if random.random() < 0.25:
        words.append(f"capability=cpu:{random.randint(3, 10)}")
    if name in PLACES:
        words.append("hierarchy={} weights={}".format(*PLACES[name]))
    return " ".join(words)


def _contended_job(random: Random, name: str, free: dict[str, list[int]], *, runs: bool, ruled: bool) -> list[str]:
    """A job, its pods on nodes as long as there is room for them, the others waiting."""
    key = f"{random.choice(NAMESPACES)}/{name}"
    cpu, gpu, pods = random.choice([1, 1, 2, 3]), random.choice([0, 0, 0, 1]), random.randint(1, 6)
    about = f"cpu={cpu} gpu={gpu} memory={random.choice([0, 0, 1, 4])}Gi"
    minimum = random.choice([1, 1, max(1, pods // 2), pods])
    words = [f"job {key} min={minimum} queue={random.choice('abc')} phase={'Running' if runs else 'Inqueue'}"]
    words.append(f"age={random.randint(0, 2)}")
    if random.random() < 0.4:
        words.append(f"class={random.choice(['high', 'higher'])}")
    roles = ["w"] * pods
    if minimum > 1 and random.random() < 0.5:
        words.append(f"roles=lead:1,w:{random.randint(0, minimum - 1)}")
        roles[random.randrange(pods)] = "lead"
    lines = [" ".join(words)]
    if ruled:
        rules = ("volcano.sh/preemptable=false", f"apart={name}", "never", "port=80")
        about += "".join(f" {rule}" for rule in rules if random.random() < 0.08)
        if random.random() < 0.1:
            lines.append(f"pdb {key} selector=job:{name} allowed={random.randint(0, 2)}")
    for role in roles:
        line = f"pods {key} 1 {about} role={role}"
        if random.random() < 0.2:
            line += f" priority={random.randint(0, 3)}"
        nodes = [node for node, (cpus, gpus) in free.items() if cpus >= cpu and gpus >= gpu] if runs else []
        if nodes:
            node = random.choice(nodes)
            free[node][0] -= cpu
            free[node][1] -= gpu
            line += f" on={node}"
        lines.append(line)
    return lines


# -- clusters whose work has an age --------------------------------------------------------------------------------

ABOUT_EVICTIONS = (
    "vsched.io/preempt-min-runtime=0s",
    "vsched.io/preempt-min-runtime=60s",
    "vsched.io/preempt-min-runtime=600s",
    "vsched.io/reclaim-min-runtime=30s",
    "vsched.io/reclaim-min-runtime=600s",
    "vsched.io/preemptibility=semi-preemptible",
    "vsched.io/preemptibility=non-preemptible",
)
OF_PODS = ("controller.kubernetes.io/pod-deletion-cost=9", "vsched.io/last-checkpoint=2027-01-15T07:59:30Z")


@st.composite
def aged(draw: st.DrawFn, *, ruled: bool = True) -> str:
    """A contended cluster whose pods started at different times; some objects have annotations about evictions."""
    random: Random = draw(st.randoms(use_true_random=False))
    lines = []
    for line in draw(contended(ruled=ruled)).splitlines():
        if line.startswith("pods ") and " on=" in line:
            line += random.choice(["", " bound", *(f" started={seconds}" for seconds in (10, 59, 60, 90, 200, 900))])
            line += f" {random.choice(OF_PODS)}" if random.random() < 0.2 else ""
        if line.startswith(("job ", "queue ")) and random.random() < 0.3:
            line += f" {random.choice(ABOUT_EVICTIONS)}"
        lines.append(line)
    return "\n".join(lines)

"""Small random clusters in the language of ``tests.support.plans``: short to read when a test finds one that fails."""

from __future__ import annotations

from hypothesis import strategies as st

NODES = ("n1", "n2", "n3")
QUEUES = ("a", "b", "default")
NAMESPACES = ("x", "y")
rarely = st.sampled_from([False] * 7 + [True])


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


@st.composite
def contended_queues(draw: st.DrawFn) -> list[str]:
    """Three leaf queues, two of them below one parent, with amounts that are now and then contradictory."""
    lines = ["queue dept parent=root", "queue a parent=dept", "queue b parent=dept", "queue c parent=root"]
    for at, line in enumerate(lines):
        words = [line, f"weight={draw(st.integers(1, 3))}"]
        if draw(rarely):
            words.append(f"priority={draw(st.integers(0, 2))}")
        if at and draw(rarely):
            words.append("reclaimable=false")
        for word, chance, most in (("deserved", [True, True, False], 6), ("guarantee", [False] * 3 + [True], 2)):
            if draw(st.sampled_from(chance)):
                words.append(f"{word}=cpu:{draw(st.integers(1, most))},gpu:{draw(st.integers(0, 2))}")
        if draw(st.sampled_from([False, False, False, True])):
            words.append(f"capability=cpu:{draw(st.integers(3, 8))}")
        lines[at] = " ".join(words)
    places = {"a": ("root/dept/a", "1/1/2"), "b": ("root/dept/b", "1/1/1"), "c": ("root/c", "1/3")}
    return [
        line
        + "".join(
            f" hierarchy={path} weights={weights}" for name, (path, weights) in places.items() if f" {name} " in line
        )
        for line in lines
    ]


@st.composite
def contended_jobs(draw: st.DrawFn, name: str, free: dict[str, list[int]], ruled: bool) -> list[str]:
    """A job, its pods on nodes as long as there is room for them, the others waiting."""
    key = f"{draw(st.sampled_from(NAMESPACES))}/{name}"
    cpu, gpu, pods = draw(st.integers(1, 2)), draw(st.sampled_from([0, 0, 1])), draw(st.integers(1, 4))
    runs = draw(st.booleans())
    words = [f"job {key} min={draw(st.integers(1, pods))} queue={draw(st.sampled_from('abc'))} phase=Running"]
    words.append(f"age={draw(st.integers(0, 2))}")
    if draw(st.booleans()):
        words.append(f"class={draw(st.sampled_from(['high', 'higher']))}")
    lines = [" ".join(words)]
    about = f"cpu={cpu} gpu={gpu}"
    if ruled and draw(rarely):
        about += " volcano.sh/preemptable=false"
    if ruled and draw(rarely):
        about += f" apart={name}"
    if ruled and draw(rarely):
        about += " never"
    if ruled and draw(rarely):
        lines.append(f"pdb {key} selector=job:{name} allowed={draw(st.integers(0, 2))}")
    for _ in range(pods):
        line = f"pods {key} 1 {about}"
        if draw(rarely):
            line += f" priority={draw(st.integers(0, 2))}"
        node = (
            next((node for node, (cpus, gpus) in free.items() if cpus >= cpu and gpus >= gpu), None) if runs else None
        )
        if node is not None:
            free[node][0] -= cpu
            free[node][1] -= gpu
            line += f" on={node}"
        lines.append(line)
    return lines


@st.composite
def contended(draw: st.DrawFn, *, ruled: bool = True) -> str:
    """A cluster that is mostly full, queues in a tree, and jobs that run or wait; without rules, amounts decide."""
    lines, free = ["class high 5", "class higher 9"], {}
    for name in NODES[: draw(st.integers(1, 3))]:
        cpu, gpu = draw(st.integers(2, 5)), draw(st.integers(0, 2))
        lines.append(f"node {name} cpu={cpu} gpu={gpu}")
        free[name] = [cpu, gpu]
    lines += draw(contended_queues())
    for number in range(draw(st.integers(2, 6))):
        lines += draw(contended_jobs(f"j{number}", free, ruled))
    return "\n".join(lines)

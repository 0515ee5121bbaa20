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

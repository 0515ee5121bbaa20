"""Made-up names for real ones: the same for the same, in the same order, and nothing left of what they said.

Decisions rest on which names are equal, which comes first, and on what one is made of (``namespace/name``). So a name
is taken apart into words, numbers and marks: words become others in the same alphabetical order, numbers and marks
stay (a label may be compared as a number, and pods are told apart by theirs), and so do words that Kubernetes and
vsched give a meaning. Names of nodes, their addresses and uids, which are nothing but names, are replaced whole:
numbers in them are addresses.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_TOKEN = re.compile(r"[0-9]+|[A-\U0010FFFF][0-9A-\U0010FFFF]*")
"""A number, or a word. All letters come after all digits, and these after the marks that names have: ``-``, ``.``,
``/``. Therefore two names compare as their first different words do."""

WELL_KNOWN = """
default root kube-system kube-public kube-node-lease system-cluster-critical system-node-critical vsched volcano
podgroup kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os kubernetes.io/metadata.name metadata.name
beta.kubernetes.io topology.kubernetes.io/region topology.kubernetes.io/zone failure-domain.beta.kubernetes.io/zone
node.kubernetes.io/instance-type node.kubernetes.io/not-ready node.kubernetes.io/unreachable
node.kubernetes.io/unschedulable node.kubernetes.io/memory-pressure node.kubernetes.io/disk-pressure
node.kubernetes.io/pid-pressure node.kubernetes.io/network-unavailable node.kubernetes.io/out-of-service
node.cloudprovider.kubernetes.io/uninitialized node-role.kubernetes.io/control-plane node-role.kubernetes.io/master
app.kubernetes.io/managed-by app.kubernetes.io/name app.kubernetes.io/instance app.kubernetes.io/component
apps.kubernetes.io/pod-index statefulset.kubernetes.io/pod-name batch.kubernetes.io/job-completion-index
batch.kubernetes.io/controller-uid batch.kubernetes.io/job-name controller-revision-hash pod-template-hash
kubernetes.io/config.mirror kubernetes.io/no-provisioner volume.beta.kubernetes.io/storage-class
storageclass.storage.k8s.io/requests.storage kube-arbitrator.incubator.k8s.io/preferred-victim
scheduling.k8s.io/group-name scheduling.volcano.sh/group-name scheduling.volcano.sh/group-min-member
scheduling.volcano.sh/group-min-resources scheduling.volcano.sh/queue-name scheduling.volcano.sh/queue-state
scheduling.volcano.sh/queue-allocation-gate volcano.sh/hierarchy volcano.sh/hierarchy-weights
volcano.sh/nodegroup-name volcano.sh/nodegroup-resource-limits volcano.sh/namespace.weight volcano.sh/preemptable
volcano.sh/revocable-zone volcano.sh/sla-waiting-time volcano.sh/cooldown-time volcano.sh/jdb-min-available
volcano.sh/jdb-max-unavailable volcano.sh/task-spec volcano.sh/task-priority volcano.sh/task-index
volcano.sh/oversubscription-cpu volcano.sh/oversubscription-memory volcano.sh/closed-by-parent
volcano.sh/network-topology-mode volcano.sh/network-topology-highest-tier volcano.sh/resource-strategy-scoring-type
volcano.sh/resource-strategy-weight true false True False latest cpu memory pods limits requests persistentvolumeclaims
ephemeral-storage LeastAllocated MostAllocated hard soft feature.node.kubernetes.io/pci- nvidia.com/gpu.present
nvidia.com/gpu.product nvidia.com/gpu.count cloud.google.com/gke-accelerator
"""
"""Names with a meaning; their words stay wherever they occur."""
UNITS = "Ei Gi Ki Mi Pi Ti E G K M P T d h k m ms n ns s u us i"
"""Words that mean something right after a number."""

EVERY_ADDRESS = "0.0.0.0"
T = TypeVar("T")


def anonymised(make: Callable[[Pseudonyms], T]) -> T:
    """What ``make`` makes by asking for what stands for each name.

    It is called twice, first to see what names there are, and has to ask for the same ones both times.
    """
    pseudonyms = Pseudonyms()
    make(pseudonyms)
    pseudonyms.settle()
    return make(pseudonyms)


class Words:
    """Words and what stands for each: others in the same order. Those with a meaning stand for themselves."""

    def __init__(self, words: Iterable[str], kept: Iterable[str]) -> None:
        fixed = sorted(set(kept))
        others = sorted(set(words).difference(fixed))
        width = len(str(len(others)))
        self._instead = {word: word for word in fixed}
        for number, word in enumerate(others, start=1):
            self._instead[word] = f"{_between(fixed, word)}{number:0{width + 1}d}"

    def __call__(self, word: str) -> str:
        """What stands for a word that is among them."""
        return self._instead[word]


def _between(fixed: Sequence[str], word: str) -> str:
    """How words begin that come after the kept word before this one, and before the kept word after it."""
    at = bisect_left(fixed, word)
    before, after = fixed[at - 1] if at else "A", fixed[at] if at < len(fixed) else "\U0010ffff"
    # Something short in between reads better than the word before with a number behind it.
    shorter = (before[:end] + chr(ord(before[end]) + 1) for end in range(len(before)))
    return next((short for short in shorter if short.isalpha() and short < after), before)


class Pseudonyms:
    """What stands for each name. Until it is settled every name stands for itself, and is taken note of."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._whole: dict[str, dict[str, str]] = {"node": {}, "uid": {}, "text": {}, "address": {}}
        self._words: tuple[Words, Words] | None = None

    def settle(self) -> None:
        """All has been shown: make up the names."""
        found: tuple[set[str], set[str]] = set(), set()
        for name in self._names:
            for token in _TOKEN.finditer(name):
                if not _is_number(token[0]):
                    found[_after_number(name, token.start())].add(token[0])
        kept = (token for token in _TOKEN.findall(WELL_KNOWN) if not _is_number(token))
        self._words = Words(found[False], kept), Words(found[True], UNITS.split())
        self._names = {name: self._made(name) for name in self._names}
        for kind, known in self._whole.items():
            width = len(str(len(known)))
            for number, name in enumerate(sorted(known.keys() - {""}), start=1):
                known[name] = f"{kind}-{number:0{width}d}"

    def _made(self, name: str) -> str:
        assert self._words is not None
        words = self._words

        def instead(token: re.Match[str]) -> str:
            return token[0] if _is_number(token[0]) else words[_after_number(name, token.start())](token[0])

        return _TOKEN.sub(instead, name)

    def name(self, name: str) -> str:
        """What stands for a name, or for a key that is made of some."""
        return self._names.setdefault(name, name) if self._words is None else self._names[name]

    def value(self, name: str) -> str:
        """The same for what may be the name of a node: values of labels, and whatever these are compared with."""
        if self._words is None:
            self.name(name)
            return name
        return self._whole["node"].get(name) or self._names[name]

    def node(self, name: str) -> str:
        """What stands for the name of a node."""
        return self._in_whole("node", name)

    def uid(self, uid: str) -> str:
        """What stands for a uid."""
        return self._in_whole("uid", uid)

    def address(self, address: str) -> str:
        """What stands for an IP address of a node; the one that means every address stays."""
        return address if address == EVERY_ADDRESS else self._in_whole("address", address)

    def text(self, text: str) -> str:
        """The replacement of a text from outside vsched."""
        return self._in_whole("text", text)

    def _in_whole(self, kind: str, name: str) -> str:
        known = self._whole[kind]
        return known.setdefault(name, name) if self._words is None else known[name]


def _is_number(token: str) -> bool:
    return token[0] <= "9"


def _after_number(name: str, start: int) -> bool:
    """Whether what begins here comes right after a number."""
    return start > 0 and "0" <= name[start - 1] <= "9"

"""Pseudonyms for names: equal names get equal pseudonyms, in the same order, and the original words are gone.

Decisions depend on which names are equal, on their order, and on their parts (``namespace/name``). So a name is split
into words, numbers and marks. Words become other words in the same alphabetical order. Numbers and marks stay: a label
may be compared as a number, and numbers distinguish pods. Words with a meaning for Kubernetes or vsched stay, too.
Node names, addresses and uids are replaced as a whole, because numbers in them may be addresses.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_TOKEN = re.compile(r"[0-9]+|[A-\U0010FFFF][0-9A-\U0010FFFF]*")
"""A number, or a word.

Letters sort after digits, and digits after the marks in names (``-``, ``.``, ``/``). So the order of two names is that
of their first different tokens.
"""

WELL_KNOWN = """
default root composite kube-system kube-public kube-node-lease system-cluster-critical system-node-critical vsched
volcano podgroup kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os kubernetes.io/metadata.name metadata.name
beta.kubernetes.io topology.kubernetes.io/region topology.kubernetes.io/zone failure-domain.beta.kubernetes.io/zone
topology.kubernetes.io/rack topology.kubernetes.io/block
node.kubernetes.io/instance-type node.kubernetes.io/not-ready node.kubernetes.io/unreachable
node.kubernetes.io/unschedulable node.kubernetes.io/memory-pressure node.kubernetes.io/disk-pressure
node.kubernetes.io/pid-pressure node.kubernetes.io/network-unavailable node.kubernetes.io/out-of-service
node.cloudprovider.kubernetes.io/uninitialized node-role.kubernetes.io/control-plane node-role.kubernetes.io/master
app.kubernetes.io/managed-by app.kubernetes.io/name app.kubernetes.io/instance app.kubernetes.io/component
apps.kubernetes.io/pod-index statefulset.kubernetes.io/pod-name batch.kubernetes.io/job-completion-index
batch.kubernetes.io/controller-uid batch.kubernetes.io/job-name controller-revision-hash pod-template-hash
kubernetes.io/config.mirror kubernetes.io/no-provisioner volume.beta.kubernetes.io/storage-class
controller.kubernetes.io/pod-deletion-cost
storageclass.storage.k8s.io/requests.storage kube-arbitrator.incubator.k8s.io/preferred-victim
scheduling.k8s.io/group-name scheduling.volcano.sh/group-name scheduling.volcano.sh/group-min-member
scheduling.volcano.sh/group-min-resources scheduling.volcano.sh/queue-name scheduling.volcano.sh/queue-state
scheduling.volcano.sh/queue-allocation-gate volcano.sh/hierarchy volcano.sh/hierarchy-weights volcano.sh/nodegroup-name
volcano.sh/nodegroup-resource-limits volcano.sh/namespace.weight volcano.sh/preemptable volcano.sh/revocable-zone
volcano.sh/sla-waiting-time volcano.sh/cooldown-time volcano.sh/jdb-min-available volcano.sh/jdb-max-unavailable
volcano.sh/task-spec volcano.sh/task-priority volcano.sh/task-index volcano.sh/oversubscription-cpu
volcano.sh/oversubscription-memory volcano.sh/closed-by-parent volcano.sh/network-topology-mode
volcano.sh/network-topology-highest-tier volcano.sh/resource-strategy-scoring-type volcano.sh/resource-strategy-weight
volcano.sh/topology-decision volcano.sh/numa-topology-policy volcano.sh/task-topology-affinity
volcano.sh/vgpu-number volcano.sh/vgpu-memory volcano.sh/vgpu-memory-percentage volcano.sh/vgpu-cores
volcano.sh/vgpu-ids-new volcano.sh/vgpu-node volcano.sh/vgpu-time volcano.sh/vgpu-mode volcano.sh/vgpu-use-gpuuuid
volcano.sh/vgpu-podgroup-policy
volcano.sh/vgpu-nouse-gpuuuid volcano.sh/devices-to-allocate volcano.sh/bind-phase volcano.sh/bind-time
volcano.sh/gpu-memory volcano.sh/gpu-number volcano.sh/gpu-index volcano.sh/gpu-unhealthy-ids volcano.sh/predicate-time
volcano.sh/node-vgpu-register volcano.sh/node-vgpu-handshake hami-vnpu-core huawei.com/vnpu-mode hami-core
hami.io/vgpu-node hami.io/vgpu-time hami.io/bind-phase hami.io/bind-time
volcano.sh/task-topology-anti-affinity volcano.sh/task-topology-task-order true false True False latest cpu memory pods
limits requests persistentvolumeclaims ephemeral-storage LeastAllocated MostAllocated hard soft
feature.node.kubernetes.io/pci- nvidia.com/gpu.present nvidia.com/gpu.product nvidia.com/gpu.count
cloud.google.com/gke-accelerator failure-domain.beta.kubernetes.io/region kubernetes.io/aws-ebs
kubernetes.io/azure-disk kubernetes.io/azure-file kubernetes.io/cinder kubernetes.io/gce-pd
kubernetes.io/portworx-volume kubernetes.io/vsphere-volume ebs.csi.aws.com disk.csi.azure.com file.csi.azure.com
vsched.io/preempt-min-runtime vsched.io/reclaim-min-runtime vsched.io/preemption-delay vsched.io/preemptibility
semi-preemptible non-preemptible
cinder.csi.openstack.org pd.csi.storage.gke.io pxd.portworx.com csi.vsphere.vmware.com
"""
"""Names with a meaning; their words stay in all names."""
UNITS = "Ei Gi Ki Mi Pi Ti E G K M P T d h k m ms n ns s u us i"
"""Words that are units directly after a number; they stay there."""

EVERY_ADDRESS = "0.0.0.0"
T = TypeVar("T")


def anonymised(make: Callable[[Pseudonyms], T]) -> T:
    """The result of ``make``, which asks its argument for the pseudonym of each name.

    ``make`` is called twice: the first call collects the names. Both calls have to ask for the same names.
    """
    pseudonyms = Pseudonyms()
    make(pseudonyms)
    pseudonyms.settle()
    return make(pseudonyms)


class Words:
    """Words and their replacements, in the same order. Words with a meaning (``kept``) stay."""

    def __init__(self, words: Iterable[str], kept: Iterable[str]) -> None:
        fixed = sorted(set(kept))
        others = sorted(set(words).difference(fixed))
        width = len(str(len(others)))
        self._instead = {word: word for word in fixed}
        for number, word in enumerate(others, start=1):
            self._instead[word] = f"{_between(fixed, word)}{number:0{width + 1}d}"

    def __call__(self, word: str) -> str:
        """The replacement of a known word."""
        return self._instead[word]


def _between(fixed: Sequence[str], word: str) -> str:
    """A prefix for replacements of a word that sorts between the kept words before and after the word."""
    at = bisect_left(fixed, word)
    before, after = fixed[at - 1] if at else "A", fixed[at] if at < len(fixed) else "\U0010ffff"
    # A short prefix in between is easier to read than the kept word before with a number appended.
    shorter = (before[:end] + chr(ord(before[end]) + 1) for end in range(len(before)))
    return next((short for short in shorter if short.isalpha() and short < after), before)


class Pseudonyms:
    """The pseudonym of each name. Before ``settle``, it records each name and returns it unchanged."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._whole: dict[str, dict[str, str]] = {"node": {}, "uid": {}, "text": {}, "address": {}}
        self._words: tuple[Words, Words] | None = None

    def settle(self) -> None:
        """Make the pseudonyms of all recorded names."""
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
        """The pseudonym of a name, or of a key made of names."""
        return self._names.setdefault(name, name) if self._words is None else self._names[name]

    def value(self, name: str) -> str:
        """The pseudonym of a text that may be a node name: label values, and values that these are compared with."""
        if self._words is None:
            self.name(name)
            return name
        return self._whole["node"].get(name) or self._names[name]

    def node(self, name: str) -> str:
        """The pseudonym of a node name."""
        return self._in_whole("node", name)

    def uid(self, uid: str) -> str:
        """The pseudonym of a uid."""
        return self._in_whole("uid", uid)

    def address(self, address: str) -> str:
        """The pseudonym of a node's IP address; ``EVERY_ADDRESS`` stays."""
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
    """Whether the token at ``start`` directly follows a number."""
    return start > 0 and "0" <= name[start - 1] <= "9"

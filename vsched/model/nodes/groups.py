"""What node labels say: the node's group, its pool, its rack, and devices that it has not registered yet."""

from __future__ import annotations

from collections.abc import Mapping

GROUP = "volcano.sh/nodegroup-name"
"""The label that queue affinity refers to."""
GROUP_LABELS = (
    GROUP,
    "node.kubernetes.io/instance-type",
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "accelerator",
)
"""Labels that name a node's group; the first one that a node has counts."""
POOL_LABELS = (
    *GROUP_LABELS,
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
)
"""Labels that name a pool of nodes with the same configuration."""
RACK_LABELS = ("topology.kubernetes.io/rack", "topology.kubernetes.io/block", "rack")
"""Labels that usually name a node's rack."""
ANNOUNCED_BY = {
    "nvidia.com": (
        "nvidia.com/gpu.",
        "nvidia.com/mig",
        "cloud.google.com/gke-accelerator",
        "k8s.amazonaws.com/accelerator",
        "karpenter.k8s.aws/instance-gpu-",
        "accelerator",
    ),
    "amd.com": ("amd.com/gpu", "karpenter.k8s.aws/instance-gpu-", "accelerator"),
    "google.com": ("cloud.google.com/gke-tpu",),
    "aws.amazon.com": ("karpenter.k8s.aws/instance-accelerator-",),
}
"""By vendor domain: prefixes of labels that announce devices, besides labels that begin with the resource's name."""
PCI_LABEL, PCI_VENDORS = "feature.node.kubernetes.io/pci-", {"nvidia.com": "10de", "amd.com": "1002"}
NONE = ("false", "0", "no", "none")


def group_of(labels: Mapping[str, str]) -> str:
    """The group of a node by its labels; empty where none names one."""
    return next((labels[label] for label in GROUP_LABELS if labels.get(label)), "")


def pool_of(labels: Mapping[str, str]) -> str:
    """The pool of a node, as ``label=value``; empty where no label names one."""
    return next((f"{label}={labels[label]}" for label in POOL_LABELS if labels.get(label)), "")


def rack_of(labels: Mapping[str, str]) -> str:
    """The rack of a node by its labels; empty where none names one."""
    return next((labels[label] for label in RACK_LABELS if labels.get(label)), "")


def announces(labels: Mapping[str, str], resource: str) -> bool:
    """Whether the labels announce devices of a resource, even if the node has not registered them."""
    domain, _, base = resource.partition("/")
    if not base:
        return False
    begins = (resource, *ANNOUNCED_BY.get(domain, ()))
    vendor = PCI_VENDORS.get(domain)
    for label, value in labels.items():
        if value.lower() in NONE:
            continue
        if label.startswith(begins) or (vendor and label.startswith(PCI_LABEL) and vendor in label):
            return True
    return False

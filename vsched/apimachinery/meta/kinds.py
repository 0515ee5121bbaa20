"""The kinds that the embedded cluster serves, as one table, and the registry that finds them.

A kind has its names, verbs and subresources, and a few facts for writes: whether it counts generations, whether an
update needs a resourceVersion, and so on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]


def without(obj: Obj, fields: Container[str]) -> Obj:
    """A copy of an object or of a part of one, without some fields."""
    return {field: value for field, value in obj.items() if field not in fields}


ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object; group and version are empty if they are the same as the object's."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A printer column. kubectl always shows priority 0, and higher ones with ``-o wide`` only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    json_path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One served version of one kind; compared by identity."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    storage: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    custom: bool = False
    columns: tuple[PrinterColumn, ...] = ()
    list_kind: str = ""
    schema: Obj | None = None
    """The structural schema of a custom kind."""
    counts_generation: bool = False
    """metadata.generation starts at 1 and rises with each change of the spec."""
    unconditional_update: bool = True
    """A PUT without resourceVersion is allowed."""
    create_on_update: bool = False
    """A PUT to a missing name creates the object."""
    returns_deleted: bool = False
    """DELETE answers with the object rather than a Status."""
    stored: bool = True
    """Objects are stored in this version; the other served versions convert on the way in and out."""
    scale_paths: tuple[str, ...] = ()
    """Simple JSON paths of a custom kind: wanted replicas, present replicas and their selector."""
    selectable_fields: tuple[str, ...] = ()
    """Fields for field selectors of a custom kind, besides name and namespace."""
    api_version: str = field(init=False)
    resource: str = field(init=False)
    """The qualified resource, as messages write it: ``pods``, ``queues.scheduling.volcano.sh``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
        object.__setattr__(self, "resource", f"{self.plural}.{self.group}" if self.group else self.plural)
        if not self.list_kind:
            object.__setattr__(self, "list_kind", f"{self.kind}List")

    @property
    def qualified_kind(self) -> str:
        """The kind with its group, as validation messages write it: ``Pod``, ``Queue.scheduling.volcano.sh``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def path(self) -> str:
        """``pods``, ``apps/deployments``: its name for the registry, the store and the local client."""
        return f"{self.group}/{self.plural}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        return any(sub.name == "status" for sub in self.subresources)

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


_READ_WRITE = ("get", "patch", "update")
_CREATE = ("create",)


def _subresource(name: str, kind: str) -> Subresource:
    """A subresource by its name; ``status`` and others that are not listed have the kind of their parent."""
    known = {
        "scale": Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1"),
        "binding": Subresource("binding", "Binding", _CREATE),
        "eviction": Subresource("eviction", "Eviction", _CREATE, "policy", "v1"),
        "token": Subresource("token", "TokenRequest", _CREATE, "authentication.k8s.io", "v1"),
        "log": Subresource("log", kind, ("get",)),
        "finalize": Subresource("finalize", kind, ("update",)),
    }
    return known.get(name, Subresource(name, kind, _READ_WRITE))


def _kinds(
    api_version: str,
    kind: str,
    plural: str,
    flags: str = "",
    *,
    short: str = "",
    categories: str = "",
    subresources: str = "",
    verbs: tuple[str, ...] = ALL_VERBS,
    storage: str = "",
    stored: bool = True,
) -> Kind:
    """One row of the table below; flags: N namespaced, G counts generations, U update needs a resourceVersion,
    C a PUT may create, D delete answers with the object."""
    group, _, version = api_version.rpartition("/")
    return Kind(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced="N" in flags,
        storage=storage or f"{group}/{plural}",
        short_names=tuple(short.split()),
        categories=tuple(categories.split()),
        subresources=tuple(_subresource(name, kind) for name in subresources.split()),
        verbs=verbs,
        stored=stored,
        counts_generation="G" in flags,
        unconditional_update="U" not in flags,
        create_on_update="C" in flags,
        returns_deleted="D" in flags,
    )


_REVIEW = ("create",)
_EXTENSIONS = "api-extensions"

BUILTIN: tuple[Kind, ...] = (
    _kinds("v1", "Binding", "bindings", "N", verbs=_REVIEW),
    _kinds("v1", "ConfigMap", "configmaps", "N", short="cm"),
    _kinds("v1", "Endpoints", "endpoints", "NC", short="ep"),
    _kinds("v1", "Event", "events", "NC", short="ev"),
    _kinds("v1", "LimitRange", "limitranges", "NC", short="limits"),
    _kinds("v1", "Namespace", "namespaces", "D", short="ns", subresources="finalize status",
           verbs=("create", "delete", "get", "list", "patch", "update", "watch")),
    _kinds("v1", "Node", "nodes", "", short="no", subresources="status"),
    _kinds("v1", "PersistentVolumeClaim", "persistentvolumeclaims", "ND", short="pvc", subresources="status"),
    _kinds("v1", "PersistentVolume", "persistentvolumes", "D", short="pv", subresources="status"),
    _kinds("v1", "Pod", "pods", "NGD", short="po", categories="all",
           subresources="binding ephemeralcontainers eviction log resize status"),
    _kinds("v1", "PodTemplate", "podtemplates", "NGD"),
    _kinds("v1", "ReplicationController", "replicationcontrollers", "NG", short="rc", categories="all",
           subresources="scale status"),
    _kinds("v1", "ResourceQuota", "resourcequotas", "ND", short="quota", subresources="status"),
    _kinds("v1", "Secret", "secrets", "N"),
    _kinds("v1", "ServiceAccount", "serviceaccounts", "ND", short="sa", subresources="token"),
    _kinds("v1", "Service", "services", "NCD", short="svc", categories="all", subresources="status"),
    _kinds("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "GU",
           categories=_EXTENSIONS),
    _kinds("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "GU",
           categories=_EXTENSIONS, subresources="status"),
    _kinds("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
           "validatingadmissionpolicybindings", "GU", categories=_EXTENSIONS),
    _kinds("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
           "GU", categories=_EXTENSIONS),
    _kinds("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", "GU",
           short="crd crds", categories=_EXTENSIONS, subresources="status"),
    _kinds("apps/v1", "ControllerRevision", "controllerrevisions", "N"),
    _kinds("apps/v1", "DaemonSet", "daemonsets", "NG", short="ds", categories="all", subresources="status"),
    _kinds("apps/v1", "Deployment", "deployments", "NG", short="deploy", categories="all",
           subresources="scale status"),
    _kinds("apps/v1", "ReplicaSet", "replicasets", "NG", short="rs", categories="all", subresources="scale status"),
    _kinds("apps/v1", "StatefulSet", "statefulsets", "NG", short="sts", categories="all",
           subresources="scale status"),
    _kinds("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", verbs=_REVIEW),
    _kinds("authentication.k8s.io/v1", "TokenReview", "tokenreviews", verbs=_REVIEW),
    _kinds("authorization.k8s.io/v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", "N", verbs=_REVIEW),
    _kinds("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", verbs=_REVIEW),
    _kinds("authorization.k8s.io/v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", verbs=_REVIEW),
    _kinds("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", verbs=_REVIEW),
    _kinds("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "N", short="hpa",
           categories="all", subresources="status"),
    _kinds("batch/v1", "CronJob", "cronjobs", "NG", short="cj", categories="all", subresources="status"),
    _kinds("batch/v1", "Job", "jobs", "NG", categories="all", subresources="status"),
    _kinds("coordination.k8s.io/v1", "Lease", "leases", "NUC"),
    _kinds("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", "NG"),
    _kinds("events.k8s.io/v1", "Event", "events", "NC", short="ev", storage="/events", stored=False),
    _kinds("networking.k8s.io/v1", "IngressClass", "ingressclasses", "G"),
    _kinds("networking.k8s.io/v1", "Ingress", "ingresses", "NG", short="ing", subresources="status"),
    _kinds("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", "NG", short="netpol"),
    _kinds("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", "U"),
    _kinds("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "NGU", short="pdb", subresources="status"),
    _kinds("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", "C"),
    _kinds("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", "C"),
    _kinds("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", "NC"),
    _kinds("rbac.authorization.k8s.io/v1", "Role", "roles", "NC"),
    _kinds("resource.k8s.io/v1", "DeviceClass", "deviceclasses", "G"),
    _kinds("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", "ND", subresources="status"),
    _kinds("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", "ND"),
    _kinds("resource.k8s.io/v1", "ResourceSlice", "resourceslices", "GD"),
    _kinds("resource.k8s.io/v1beta2", "DeviceTaintRule", "devicetaintrules", "GD", subresources="status"),
    _kinds("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "G", short="pc"),
    _kinds("storage.k8s.io/v1", "CSIDriver", "csidrivers", "UD"),
    _kinds("storage.k8s.io/v1", "CSINode", "csinodes", "UD"),
    _kinds("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", "ND"),
    _kinds("storage.k8s.io/v1", "StorageClass", "storageclasses", "D", short="sc"),
    _kinds("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", "UD", subresources="status"),
)  # fmt: skip


class KindRegistry:
    """The kinds that are served now, by all names that requests and objects use for them."""

    def __init__(self, kinds: Iterable[Kind] = BUILTIN) -> None:
        self._kinds: list[Kind] = []
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_object: dict[tuple[str, str], Kind] = {}
        self._preferred: dict[tuple[str, str], Kind] = {}
        self._stored: dict[str, Kind] = {}
        self._by_name: dict[str, Kind] = {}
        """Those that were asked for by ``resource``, until a kind is added or removed."""
        self.changes = 0
        """Rises with each kind that is added or removed; rendered documents are kept until then."""
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds)

    def add(self, kind: Kind) -> None:
        """Serves a kind, or replaces the same version of it. The first version of a resource is the preferred one."""
        path = (kind.group, kind.version, kind.plural)
        previous = self._by_path.get(path)
        if previous is None:
            self._kinds.append(kind)
        else:
            self._kinds[self._kinds.index(previous)] = kind
            self._by_object.pop((previous.api_version, previous.kind), None)
        self._by_path[path] = kind
        self._by_object[kind.api_version, kind.kind] = kind
        preferred = self._preferred.get((kind.group, kind.plural))
        if preferred is None or preferred is previous:
            self._preferred[kind.group, kind.plural] = kind
        if kind.stored:
            self._stored[kind.storage] = kind
        self._by_name.clear()
        self.changes += 1

    def remove(self, group: str, plural: str) -> None:
        """Stops serving every version of a resource."""
        for kind in [k for k in self._kinds if k.group == group and k.plural == plural]:
            self._kinds.remove(kind)
            self._by_path.pop((group, kind.version, plural), None)
            self._by_object.pop((kind.api_version, kind.kind), None)
        self._preferred.pop((group, plural), None)
        self._stored.pop(f"{group}/{plural}", None)
        self._by_name.clear()
        self.changes += 1

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind served at /apis/group/version/plural (or /api/version/plural)."""
        return self._by_path.get((group, version, plural))

    def of(self, api_version: str, kind: str) -> Kind | None:
        """The kind an object with this apiVersion and kind belongs to."""
        return self._by_object.get((api_version, kind))

    def preferred(self, group: str, plural: str) -> Kind | None:
        return self._preferred.get((group, plural))

    def stored(self, kind: Kind) -> Kind:
        """The version that objects of this kind are stored in."""
        return self._stored.get(kind.storage, kind)

    def resource(self, name: str) -> Kind:
        """The preferred version of ``pods`` or ``group/plural``; raises KeyError if it is not served."""
        found = self._by_name.get(name)
        if found is None:
            group, _, plural = name.rpartition("/")
            found = self._by_name[name] = self._preferred[group, plural]
        return found

    def versions(self, group: str) -> list[str]:
        """The served versions of a group, the preferred one first."""
        return list(dict.fromkeys(kind.version for kind in self._kinds if kind.group == group))

    def groups(self) -> list[str]:
        return list(dict.fromkeys(kind.group for kind in self._kinds))

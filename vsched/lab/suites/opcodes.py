"""The operations of a workload template, with the parameters of one workload filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from vsched.lab.suites import words
from vsched.lab.suites.fields import SuiteFields, Value
from vsched.lab.suites.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    CreateResourceDriver,
    DeletePods,
    Operation,
    Sleep,
    StartMeasuring,
    StopMeasuring,
    UpdateAny,
)

CREATE, RECREATE = "create", "recreate"
ATTEMPTED, SCHEDULED = "Attempted", "Scheduled"


class UnknownOperation(Exception):
    """An operation, or a field of one, that is not known here; its text says where."""


class OperationPlace(NamedTuple):
    """Where an operation is read."""

    at: int
    """Its number in the template, from 0."""
    folder: Path
    """What paths of templates are relative to."""
    pods: Path | None
    """The test case's template for pods."""

    def file(self, value: Value) -> Path:
        return self.folder / value.text()


def read_operation(fields: SuiteFields, at: int, folder: Path, pods: Path | None, used: set[str]) -> Operation:
    """An operation; raises BadInput, and Unknown where nothing is wrong with it except that it is not known here.

    Adds the parameters it takes to ``used``.
    """
    opcode = fields.need("opcode", Value.text)
    read = _OPERATIONS.get(opcode)
    if read is None:
        raise UnknownOperation(words.unknown_operation(fields.value.where, opcode))
    found = read(fields, OperationPlace(at, folder, pods))
    used |= fields.used
    for rest in fields.rest():
        raise UnknownOperation(words.unknown_field(rest.where, opcode))
    return found


def _create_nodes(fields: SuiteFields, context: OperationPlace) -> CreateNodes:
    count = fields.param("count", Value.count, 0)
    template = fields.take("nodeTemplatePath", context.file, None)
    label, values = fields.take("labelNodePrepareStrategy", _label_in_turn, ("", ()))
    label = fields.take("uniqueNodeLabelStrategy", _unique_label, label)
    allocatable, attachable, migrated = fields.take("nodeAllocatableStrategy", _allocatable, None) or ({}, {}, ())
    return CreateNodes(
        count=count,
        template=template,
        label=label,
        values=values,
        allocatable=allocatable,
        attachable=attachable,
        migrated=migrated,
    )


def _label_in_turn(value: Value) -> tuple[str, tuple[str, ...]]:
    fields = SuiteFields(value)
    found = fields.need("labelKey", Value.text), fields.take("labelValues", Value.texts, ())
    _nothing_else(fields)
    return found


def _unique_label(value: Value) -> str:
    fields = SuiteFields(value)
    found = fields.need("labelKey", Value.text)
    _nothing_else(fields)
    return found


def _allocatable(value: Value) -> tuple[dict[str, str], dict[str, int], tuple[str, ...]]:
    fields = SuiteFields(value)
    drivers = fields.take("csiNodeAllocatable", Value.mapping, dict[str, Value]())
    found = (
        fields.take("nodeAllocatable", Value.pairs, dict[str, str]()),
        {name: SuiteFields(each).need("count", Value.count) for name, each in drivers.items()},
        fields.take("migratedPlugins", Value.texts, ()),
    )
    _nothing_else(fields)
    return found


def _nothing_else(fields: SuiteFields) -> None:
    for rest in fields.rest():
        raise UnknownOperation(words.not_known(rest.where))


def _create_namespaces(fields: SuiteFields, context: OperationPlace) -> CreateNamespaces:
    return CreateNamespaces(
        prefix=fields.need("prefix", Value.text),
        count=fields.param("count", Value.count, 0),
        template=fields.take("namespaceTemplatePath", context.file, None),
    )


def _create_pods(fields: SuiteFields, context: OperationPlace) -> CreatePods:
    steady = fields.param("steadyState", Value.flag, False)
    seconds = fields.param("duration", Value.seconds, 0.0)
    return CreatePods(
        namespace=fields.take("namespace", Value.text, "") or f"namespace-{context.at}",
        count=fields.param("count", Value.count, 0),
        template=fields.take("podTemplatePath", context.file, context.pods),
        volume=fields.take("persistentVolumeTemplatePath", context.file, None),
        claim=fields.take("persistentVolumeClaimTemplatePath", context.file, None),
        measured=fields.take("collectMetrics", Value.flag, False),
        waits=not fields.take("skipWaitToCompletion", Value.flag, False),
        steady_seconds=seconds if steady else 0.0,
    )


def _create_pod_sets(fields: SuiteFields, context: OperationPlace) -> CreatePodSets:
    count = fields.param("count", Value.count, 0)
    prefix = fields.need("namespacePrefix", Value.text)

    def inner(value: Value) -> CreatePods:
        below = SuiteFields(value, fields.params)
        found = read_operation(below, context.at, context.folder, context.pods, fields.used)
        if not isinstance(found, CreatePods):
            raise value.refuse(words.AN_OPERATION)
        return found

    return CreatePodSets(count=count, prefix=prefix, pods=fields.need("createPodsOp", inner))


def _churn(fields: SuiteFields, context: OperationPlace) -> Churn:
    def mode(value: Value) -> str:
        if value.text() not in (CREATE, RECREATE):
            raise value.refuse(f"{CREATE} or {RECREATE}")
        return value.text()

    def templates(value: Value) -> tuple[Path, ...]:
        return tuple(context.file(each) for each in value.items())

    kind, number = fields.need("mode", mode), fields.param("number", Value.count, 0)
    return Churn(
        namespace=fields.take("namespace", Value.text, "") or f"namespace-{context.at}",
        templates=fields.need("templatePaths", templates),
        seconds=fields.take("intervalMilliseconds", lambda value: value.number(1), 500.0) / 1000,
        kept=max(1, number) if kind == RECREATE else 0,
        most=number if kind == CREATE else 0,
    )


def _barrier(fields: SuiteFields, context: OperationPlace) -> Barrier:
    def stage(value: Value) -> bool:
        if value.text() not in (ATTEMPTED, SCHEDULED):
            raise value.refuse(f"{SCHEDULED} or {ATTEMPTED}")
        return value.text() == ATTEMPTED

    return Barrier(
        namespaces=fields.take("namespaces", Value.texts, ()),
        labels=fields.take("labelSelector", Value.pairs, dict[str, str]()),
        attempted=fields.take("stageRequirement", stage, False),
    )


def _sleep(fields: SuiteFields, context: OperationPlace) -> Sleep:
    return Sleep(seconds=fields.param("duration", Value.seconds, 0.0))


def _delete_pods(fields: SuiteFields, context: OperationPlace) -> DeletePods:
    return DeletePods(
        namespace=fields.need("namespace", Value.text),
        labels=fields.take("labelSelector", Value.pairs, dict[str, str]()),
        per_second=fields.take("deletePodsPerSecond", Value.number, 0.0),
        waits=not fields.take("skipWaitToCompletion", Value.flag, False),
    )


def _create_any(fields: SuiteFields, context: OperationPlace) -> CreateAny:
    return CreateAny(
        template=fields.need("templatePath", context.file),
        namespace=fields.take("namespace", Value.text, ""),
        count=fields.param("count", Value.count, 1),
    )


def _update_any(fields: SuiteFields, context: OperationPlace) -> UpdateAny:
    fields.take("subresources", Value.texts, ())  # a template says what the object is then, wherever it is written
    return UpdateAny(
        template=fields.need("templatePath", context.file),
        namespace=fields.take("namespace", Value.text, ""),
        count=fields.param("count", Value.count, 1),
        per_second=fields.take("updatePerSecond", Value.number, 0.0),
    )


def _create_resource_driver(fields: SuiteFields, context: OperationPlace) -> CreateResourceDriver:
    return CreateResourceDriver(
        driver=fields.need("driverName", Value.text),
        nodes=fields.need("nodes", Value.text),
        devices=fields.param("maxClaimsPerNode", Value.count, 0),
    )


def _allocate_claims(fields: SuiteFields, context: OperationPlace) -> AllocateClaims:
    return AllocateClaims(namespace=fields.need("namespace", Value.text))


def _start(fields: SuiteFields, context: OperationPlace) -> StartMeasuring:
    return StartMeasuring(
        name=fields.take("name", Value.text, ""),
        namespaces=fields.take("namespaces", Value.texts, ()),
        labels=fields.take("labelSelector", Value.pairs, dict[str, str]()),
    )


def _stop(fields: SuiteFields, context: OperationPlace) -> StopMeasuring:
    return StopMeasuring()


_OPERATIONS: Mapping[str, Callable[[SuiteFields, OperationPlace], Operation]] = {
    "createNodes": _create_nodes,
    "createNamespaces": _create_namespaces,
    "createPods": _create_pods,
    "createPodSets": _create_pod_sets,
    "churn": _churn,
    "barrier": _barrier,
    "sleep": _sleep,
    "deletePods": _delete_pods,
    "createAny": _create_any,
    "updateAny": _update_any,
    "createResourceDriver": _create_resource_driver,
    "allocResourceClaims": _allocate_claims,
    "startCollectingMetrics": _start,
    "stopCollectingMetrics": _stop,
}

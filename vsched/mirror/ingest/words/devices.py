"""What is wrong with devices: claims, slices and taints, shared devices and NPUs."""

from __future__ import annotations

# -- amounts of devices ------------------------------------------------------------------------------------------------


def no_whole_number(text: str) -> str:
    return f"{text!r} (expected a whole number)"


def too_many_words(at: str, words: int, letters: int) -> str:
    return f"metadata.annotations[{at}]: more than {words} words or {letters:,} letters"


# -- resource claims ---------------------------------------------------------------------------------------------------


def long_selectors(at: str, letters: int, most: int) -> str:
    return f"{at}: {letters:,} letters of selectors ({most:,} are read at most)"


def neither_exactly_nor_first(at: str) -> str:
    return f"{at}: neither exactly nor firstAvailable (expected one of them)"


def unknown_allocation_mode(at: str, mode: str, exact: str, all_devices: str) -> str:
    return f"{at}.allocationMode: {mode!r} is unknown (expected {exact} or {all_devices})"


def less_than_one_device(at: str, count: int) -> str:
    return f"{at}.count: {count} (expected 1 or more)"


def no_device_class(at: str) -> str:
    return f"{at}.deviceClassName: missing (expected the name of a DeviceClass)"


def no_attribute(at: str) -> str:
    return f"{at}: neither matchAttribute nor distinctAttribute (expected one of them)"


# -- kinds of devices in one pod ---------------------------------------------------------------------------------------

MEMORY_OF_GPUS = "memory of gpus"


def not_of_containers(at: str, name: str) -> str:
    return f"{at}: {name} (expected of containers alone)"


def two_kinds(at: str, name: str, other: str) -> str:
    return f"{at}: {name} beside {other} (expected one kind of devices)"


def two_kinds_with_npus(at: str, name: str, prefix: str, chip: str) -> str:
    return f"{at}: {name} beside {prefix}{chip} (expected one kind of devices)"


EACH_KIND_BY_ITSELF = "each kind counts by itself: give each device plugin GPUs of its own"


# -- parts of resource slices ------------------------------------------------------------------------------------------


def no_cel(at: str, position: int) -> str:
    return f"{at}[{position}]: no cel (expected a CEL expression)"


# -- taints ------------------------------------------------------------------------------------------------------------


def selector_not_supported(field: str) -> str:
    return f"spec.deviceSelector.{field}: not supported (expected driver, pool and device)"


def unknown_taint_effect(at: str, effect: str, effects: str) -> str:
    return f"{at}.effect: {effect!r} is unknown (expected {effects})"


# -- devices that pods share -------------------------------------------------------------------------------------------


def devices_left_out(why: Exception) -> str:
    return f"{why}: its devices are left out"


def devices_of_annotation_left_out(annotation: str, why: Exception) -> str:
    return f"metadata.annotations[{annotation}]: {why}: its devices are left out"


def too_many_letters(letters: int, most: int) -> str:
    return f"{letters:,} letters ({most:,} are read at most)"


def too_many_devices(devices: int, most: int) -> str:
    return f"{devices} devices ({most} are read at most)"


ONE_UUID = "two devices have one uuid"


def no_list_of_devices(text: str) -> str:
    return f"{text!r} (expected a list of devices)"


def no_registered_device(text: str) -> str:
    return f"{text!r} (expected uuid,sharers,MiB,type,healthy,mode)"


def no_bool(text: str) -> str:
    return f"{text!r} (expected true or false)"


def too_many_gpus(resource: str, gpus: int, most: int) -> str:
    return f"status.capacity.{resource}: {gpus} ({most} are read at most)"


NO_EFFECT_WITHOUT_VGPUS = "it has no effect on a pod without vGPUs"


def no_chosen_device(text: str) -> str:
    return f"{text!r} (expected uuid,type,MiB,cores)"


def no_geometry(text: str) -> str:
    return f"{text!r} (expected uuid[geometry-position])"


# -- NPUs --------------------------------------------------------------------------------------------------------------


def npus_left_out(register: str, chip: str, why: Exception) -> str:
    return f"metadata.annotations[{register}{chip}]: {why}: its devices are left out"


def limits_not_of_containers(path: str, position: int, name: str) -> str:
    return f"{path}[{position}].resources.limits: {name} (expected of containers alone)"


def two_models(models: str) -> str:
    return f"{models} (expected one model of NPUs)"

"""What is said of tables of devices and of workload kinds, of what a policy may name, and of plugins of others."""

from __future__ import annotations

# -- tables ------------------------------------------------------------------------------------------------------------


def nested_too_deeply(where: str) -> str:
    return f"{where}: nested too deeply to be read"


def two_geometries(where: str, number: int) -> str:
    return f"{where}: nvidia.knownMigGeometries[{number}]: two geometries have one group"


def two_models(where: str) -> str:
    return f"{where}: two models have one commonWord"


def memory_factor(where: str, factor: int) -> str:
    return f"{where}.memoryFactor: {factor} (expected 1: memory is in MiB)"


# -- what a policy may name --------------------------------------------------------------------------------------------


def name_not_allowed(name: str, prefix: str) -> str:
    return f"{name!r}: expected a name that begins with {prefix} (--policy-env-prefix)"


ALLOWED_NAMESPACE = "a namespace that is allowed"


def secret_not_allowed(secret: str, allowed: str) -> str:
    return f"{secret!r}: expected a Secret of {allowed} (--policy-secrets)"


def file_not_allowed(file: str, allowed: str) -> str:
    return f"{file!r}: expected a file below {allowed} (--policy-files)"


# -- plugins of others -------------------------------------------------------------------------------------------------

TAKEN_BY_VSCHED = "vsched has a plugin of this name itself; expected another name"


def taken_by(package: str) -> str:
    return f"{package} has a plugin of this name, too; expected one of them"


def cannot_be_loaded(why: str) -> str:
    return f"cannot be loaded: {why}"


CLASS_EXPECTED = "expected a class that inherits vsched.framework.points.extension.Plugin"


def name_expected(name: str, own: object) -> str:
    return f"expected name = {name!r} in the class, got {own!r}"


def not_defined(missing: str) -> str:
    return f"does not define {missing}, which its extension points ask for"


NO_PART = "takes part in no decision; expected a class that inherits an extension point, such as JobOrder"


def struct_expected(got: object) -> str:
    return f"expected a msgspec.Struct as args_type, got {got!r}"


def arguments_cannot_be_read(why: str) -> str:
    return f"its arguments cannot be read: {why}"


def package(name: str, version: str) -> str:
    return f"package {name} {version}"


UNKNOWN_PACKAGE = "an unknown package"

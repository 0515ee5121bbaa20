"""Validation of configurations of webhooks, validating and mutating ones. Objects come decoded and with defaults."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.field_errors import Causes, required
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import qualified_name_problems, subdomain_problems
from vsched.cel import expressions as cel
from vsched.cel.errors import NotCompiled

CONDITION_VARIABLES = ("object", "oldObject", "request")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_VERSIONS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"
_MOST_CONDITIONS = 64


def check_webhooks(obj: Obj, causes: Causes) -> None:
    """Checks all webhooks of a configuration."""
    names: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        where, name = f"webhooks[{index}]", hook.get("name") or ""
        _check_name(name, f"{where}.name", causes)
        _check_hook(hook, where, causes)
        causes.check_unique(name, names, f"{where}.name")


def _check_name(name: str, path: str, causes: Causes) -> None:
    if causes.check_name(name, subdomain_problems, path) and name.count(".") < 2:
        causes.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _check_hook(hook: Obj, where: str, causes: Causes) -> None:
    for index, rule in enumerate(hook.get("rules") or ()):
        _check_rule(rule, f"{where}.rules[{index}]", causes)
    causes.check_one_of(hook.get("failurePolicy"), ("Fail", "Ignore"), f"{where}.failurePolicy")
    causes.check_one_of(hook.get("matchPolicy"), ("Equivalent", "Exact"), f"{where}.matchPolicy")
    if "reinvocationPolicy" in hook:
        causes.check_one_of(hook["reinvocationPolicy"], ("IfNeeded", "Never"), f"{where}.reinvocationPolicy")
    if hook.get("sideEffects") is None:
        causes.required(f"{where}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    else:
        causes.check_one_of(hook["sideEffects"], _SIDE_EFFECTS, f"{where}.sideEffects")
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        causes.invalid(f"{where}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for selector in ("namespaceSelector", "objectSelector"):
        causes.check_selector(hook.get(selector), f"{where}.{selector}")
    _check_client(hook.get("clientConfig") or {}, f"{where}.clientConfig", causes)
    _check_conditions(hook.get("matchConditions") or (), f"{where}.matchConditions", causes)
    _check_versions(hook.get("admissionReviewVersions") or (), f"{where}.admissionReviewVersions", causes)


def _check_rule(rule: Obj, where: str, causes: Causes) -> None:
    words = {"operations": "operations", "apiGroups": "API groups", "apiVersions": "API versions"}
    for field, called in words.items():
        given = rule.get(field) or ()
        if not given:
            causes.required(f"{where}.{field}")
        elif len(given) > 1 and "*" in given:
            causes.invalid(f"{where}.{field}", given, f"if '*' is present, must not specify other {called}")
    for index, operation in enumerate(rule.get("operations") or ()):
        causes.check_one_of(operation, _OPERATIONS, f"{where}.operations[{index}]")
    for index, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            causes.required(f"{where}.apiVersions[{index}]")
    _check_resources(rule.get("resources") or (), f"{where}.resources", causes)
    if rule.get("scope") not in _SCOPES:
        causes.not_supported(f"{where}.scope", rule.get("scope"), _SCOPES)


def _check_resources(given: Sequence[str], where: str, causes: Causes) -> None:
    if not given:
        causes.required(where)
    causes.extend(required(f"{where}[{index}]") for index, one in enumerate(given) if not one)
    if len(given) > 1 and "*/*" in given:
        causes.invalid(where, given, "if '*/*' is present, must not specify other resources")
    if "*" in given and any("/" not in one for one in given if one != "*"):
        why = "if '*' is present, must not specify other resources without subresources"
        causes.invalid(where, given, why)
    for index, one in enumerate(given):
        resource, slash, below = one.partition("/")
        if slash and below != "*" and f"{resource}/*" in given[:index]:
            causes.invalid(f"{where}[{index}]", one, f"if '{resource}/*' is present, must not specify {one}")
        if slash and resource != "*" and f"*/{below}" in given[:index]:
            causes.invalid(f"{where}[{index}]", one, f"if '*/{below}' is present, must not specify {one}")


def _check_client(client: Obj, where: str, causes: Causes) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        causes.required(where, "exactly one of url or service is required")
    elif url is not None:
        _check_url(url, f"{where}.url", causes)
    elif service is not None:
        _check_service(service, f"{where}.service", causes)


def _check_url(url: str, where: str, causes: Causes) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is parsed only now
    except ValueError as error:
        causes.required(where, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        causes.invalid(where, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not parts.hostname:
        causes.invalid(where, parts.netloc, f"host must be specified{_FORM}")
    if parts.username is not None:
        causes.invalid(where, parts.username, "user information is not permitted in the URL")
    if parts.fragment:
        causes.invalid(where, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        causes.invalid(where, parts.query, "query parameters are not permitted in the URL")


def _check_service(service: Obj, where: str, causes: Causes) -> None:
    missing = [field for field in ("name", "namespace") if not service.get(field)]
    causes.extend(required(f"{where}.{field}", f"service {field} is required") for field in missing)
    port, path = service.get("port"), service.get("path")
    if port is not None and not 1 <= port <= 65535:
        causes.invalid(f"{where}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    if path is not None and not path.startswith("/"):
        causes.invalid(f"{where}.path", path, "must start with a '/'")
    elif path is not None and ("//" in path or "?" in path or "#" in path):
        causes.invalid(f"{where}.path", path, "must be a plain path without empty segments")


def _check_conditions(conditions: Sequence[Obj], where: str, causes: Causes) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        text = f"Too many: {len(conditions)}: must have at most {_MOST_CONDITIONS} items"
        causes.append(FieldCause("FieldValueTooMany", text, where))
        return
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name = f"{where}[{index}]", condition.get("name") or ""
        causes.check_name(name, qualified_name_problems, f"{here}.name")
        if name:
            causes.check_unique(name, names, f"{here}.name")
        expression = (condition.get("expression") or "").strip()
        if not expression:
            causes.required(f"{here}.expression")
            continue
        try:
            cel.compiled(expression, CONDITION_VARIABLES)
        except NotCompiled as error:
            causes.invalid(f"{here}.expression", condition["expression"], f"compilation failed: {error}")


def _check_versions(versions: Sequence[str], where: str, causes: Causes) -> None:
    if not versions:
        causes.required(where, f"must specify one of {', '.join(_VERSIONS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            causes.invalid(f"{where}[{index}]", version, "duplicate version")
    if not set(_VERSIONS) & set(versions):
        causes.invalid(where, versions, f"must include at least one of {', '.join(_VERSIONS)}")

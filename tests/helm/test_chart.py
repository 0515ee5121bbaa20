"""The chart by itself: what Helm says of it, what comes out of it, and whether its values are what they seem."""

from __future__ import annotations

import base64
import functools
import json
import re
import subprocess
from collections.abc import Iterator
from importlib import resources
from itertools import product
from random import Random

import jsonschema
import pytest
import yaml

from tests.helm.foreign import SCHEMAS
from tests.support.charts import (
    CHART,
    NAMESPACE,
    POD,
    RELEASE,
    SCHEDULER,
    VALUES,
    Obj,
    container_of,
    deployments_of,
    files_of,
    helm,
    objects_of,
    one,
    options_in,
)
from tests.support.examples import seeds
from vsched.apimachinery.objects.crds import shipped_definitions
from vsched.cli.run.command import command
from vsched.daemon.lead.leader_address import LEADER_LABEL
from vsched.daemon.options import check, leader_pod_of
from vsched.settings.built_in import REGISTRY
from vsched.settings.load import default_text, load_text

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
# It would read all definitions of a version for each object.
kubernetes_validate.utils.schema_contents = functools.cache(kubernetes_validate.utils.schema_contents)
DEFINITION = "CustomResourceDefinition"
ROOT = CHART.parents[1]
OLDEST, NEWEST = "1.29", "1.37"
CASES = pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())


def test_helm_finds_nothing_to_complain_of() -> None:
    found = helm.lint(CHART)
    assert found["total_charts_linted"] == 1
    assert found["messages"] == []


@functools.cache
def validate(text: str, version: str) -> None:
    """Raises where the API of this version of Kubernetes, or of the project that a kind is of, would not take it."""
    found = json.loads(text)
    schema = SCHEMAS.get((found["apiVersion"], found["kind"]))
    if schema is not None:
        jsonschema.validate(found, schema)
    else:
        kubernetes_validate.validate(found, version, strict=True)


@CASES
def test_every_object_is_one_that_the_api_takes(values: Obj) -> None:
    objects = objects_of(values)
    assert {each["kind"] for each in objects} > {"Deployment", "Service", "ClusterRole", "ServiceAccount"}
    for each in objects:
        validate(json.dumps(each), NEWEST)


@pytest.mark.parametrize(("release", "version"), [("vsched", OLDEST), ("team-a", NEWEST)])
def test_objects_are_valid_under_any_name_and_in_the_oldest_kubernetes(release: str, version: str) -> None:
    objects = objects_of(VALUES["everything that can be switched on"], release)
    assert len(objects) > 15
    for each in objects:
        validate(json.dumps(each), version)


@CASES
def test_objects_are_labelled_and_have_names_of_their_own(values: Obj) -> None:
    objects = objects_of(values)
    for each in objects:
        assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == "vsched"
    keys = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects]
    assert len(set(keys)) == len(keys)


@CASES
def test_the_daemon_understands_its_flags(values: Obj) -> None:
    objects = objects_of(values)
    for container in deployments_of(objects):
        check(options_in(objects, container))
    options = options_in(objects)
    assert options.arbitrate == values.get("arbitration", {}).get("enabled", False)
    assert options.lease.namespace == (NAMESPACE if options.leader_elect else "")


def selectors_in(objects: list[Obj]) -> list[Obj]:
    """How the pods of each Deployment are selected."""
    return [each["spec"]["selector"]["matchLabels"] for each in deployments_of(objects).values()]


def is_of(service: Obj, selector: Obj) -> bool:
    """Whether a Service leads to pods that are selected so."""
    return bool(selector.items() <= service["spec"]["selector"].items())


@CASES
def test_what_is_served_can_be_reached(values: Obj) -> None:
    objects = objects_of(values)
    services = [each for each in objects if each["kind"] == "Service"]
    for container, deployment in deployments_of(objects).items():
        options = options_in(objects, container)
        ports = {each["name"]: each["containerPort"] for each in container_of(objects, container)["ports"]}
        addresses = {"http": options.listen_address, "health": options.healthz_address}
        addresses["webhook"] = options.webhook_address
        assert {name: f":{port}" for name, port in ports.items()} == {name: at for name, at in addresses.items() if at}
        mine = deployment["spec"]["selector"]["matchLabels"]
        for port in (port for each in services if is_of(each, mine) for port in each["spec"]["ports"]):
            assert port["targetPort"] in (port["name"], ports[port["name"]])
        for policy in (each for each in objects if each["kind"] == "NetworkPolicy"):
            if policy["spec"]["podSelector"]["matchLabels"] == mine:
                assert {rule["ports"][0]["port"] for rule in policy["spec"]["ingress"]} == set(ports)
    assert all(any(is_of(each, selector) for selector in selectors_in(objects)) for each in services)
    for hook in (
        hook for each in objects if each["kind"].endswith("WebhookConfiguration") for hook in each["webhooks"]
    ):
        service = hook["clientConfig"]["service"]
        found = one(services, "Service", service["name"])["spec"]["ports"]
        assert service["port"] in [port["port"] for port in found if port["targetPort"] == "webhook"]


@CASES
def test_pods_have_no_right_that_they_do_not_need(values: Obj) -> None:
    objects = objects_of(values)
    for name, deployment in deployments_of(objects).items():
        pod, container = deployment["spec"]["template"]["spec"], container_of(objects, name)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        in_memory = {each["name"] for each in pod.get("volumes", ()) if "emptyDir" in each}
        assert in_memory <= {"tls"}
        mounts = container.get("volumeMounts", ())
        assert all(mount.get("readOnly") or mount["name"] in in_memory for mount in mounts)
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert set(container["resources"]) == {"requests", "limits"}
    accounts = [each for each in objects if each["kind"] == "ServiceAccount"]
    assert len(accounts) == len(deployments_of(objects))
    assert all(each["automountServiceAccountToken"] is False for each in accounts)


@CASES
def test_replicas_stay_apart_and_survive_drains(values: Obj) -> None:
    objects = objects_of(values)
    budgets = [each["spec"] for each in objects if each["kind"] == "PodDisruptionBudget"]
    for container, found in deployments_of(objects).items():
        deployment = found["spec"]
        mine = deployment["selector"]["matchLabels"]
        assert mine.items() <= deployment["template"]["metadata"]["labels"].items()
        rolling = deployment["strategy"]["rollingUpdate"]
        required = "requiredDuringSchedulingIgnoredDuringExecution" in str(deployment["template"]["spec"]["affinity"])
        assert rolling == {"maxSurge": 0 if required else 1, "maxUnavailable": 1 if required else 0}
        assert [each["maxUnavailable"] for each in budgets if each["selector"]["matchLabels"] == mine] == [1] * (
            len(budgets) > 0
        )
        assert deployment["replicas"] < 2 or options_in(objects, container).leader_elect
    assert len(budgets) in (0, len(deployments_of(objects)))


@CASES
def test_mounts_and_volumes_go_together(values: Obj) -> None:
    objects = objects_of(values)
    pod = deployments_of(objects)[SCHEDULER]["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container_of(objects).get("volumeMounts", ())}
    volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
    assert set(mounts) == set(volumes)
    options = options_in(objects)
    assert (options.tls_cert_file is not None) == ("tls" in mounts)
    if "secret" in volumes.get("tls", {}) and "Secret" in [each["kind"] for each in objects]:
        assert volumes["tls"]["secret"]["secretName"] == one(objects, "Secret")["metadata"]["name"]


@CASES
def test_the_policy_is_one_that_the_daemon_takes(values: Obj) -> None:
    for found in (each for each in objects_of(values) if each["metadata"]["name"] == "vsched-policy"):
        (text,) = found["data"].values()
        assert load_text(text, "chart", REGISTRY).policy.actions


def test_the_policy_that_comes_with_the_chart_is_the_built_in_one() -> None:
    content = yaml.safe_load((CHART / "values.yaml").read_text())["policy"]["content"]
    assert content == yaml.safe_load(default_text())


def test_a_policy_as_text_stays_as_it_is() -> None:
    values = VALUES["a policy as text"]
    assert one(objects_of(values), "ConfigMap")["data"]["scheduler.yaml"] == values["policy"]["text"]


def test_definitions_are_those_of_the_embedded_cluster() -> None:
    chart = {path.name: path.read_text() for path in (CHART / "files" / "definitions").iterdir()}
    shipped = resources.files("vsched.apimachinery.objects.definitions")
    assert chart == {path.name: path.read_text() for path in shipped.iterdir() if path.name.endswith(".yaml")}
    rendered = {each["metadata"]["name"]: each for each in objects_of({}) if each["kind"] == DEFINITION}
    assert {name: each["spec"] for name, each in rendered.items()} == {
        each["metadata"]["name"]: each["spec"] for each in shipped_definitions()
    }
    assert len(rendered) >= 6
    for each in rendered.values():
        assert each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    approved = rendered["consumers.kube-arbitrator.incubator.k8s.io"]["metadata"]["annotations"]
    assert "api-approved.kubernetes.io" in approved


def test_definitions_can_be_left_to_others() -> None:
    assert DEFINITION not in {each["kind"] for each in objects_of({"definitions": {"install": False}})}


# -- certificates and the webhook


def test_a_generated_certificate_is_for_its_services_and_of_the_authority_that_the_webhook_trusts() -> None:
    objects = objects_of(VALUES["everything that can be switched on"])
    secret, hook = one(objects, "Secret"), one(objects, "ValidatingWebhookConfiguration")
    assert hook["webhooks"][0]["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]
    assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["data"]["tls.crt"])
    assert b"PRIVATE KEY" in base64.b64decode(secret["data"]["tls.key"])


def test_the_webhooks_for_vcjobs_are_those_of_the_sample_and_never_in_the_way() -> None:
    objects = objects_of(VALUES["vcjobs are reviewed, and nothing else"])
    secret = one(objects, "Secret")
    sample = yaml.safe_load_all((CHART.parents[1] / "config" / "webhook.yaml").read_text(encoding="utf-8"))
    for wanted in sample:
        found = {hook["name"]: hook for hook in one(objects, wanted["kind"])["webhooks"]}
        hooks = {hook["name"]: hook for hook in wanted["webhooks"] if hook["name"] != "consumers.vsched.io"}
        assert found.keys() == hooks.keys()
        for name, hook in hooks.items():
            assert found[name]["clientConfig"].pop("caBundle") == secret["data"]["ca.crt"]
            assert found[name]["clientConfig"]["service"].pop("namespace") == "batch"
            hook["clientConfig"]["service"].pop("namespace")
            assert found[name] == hook


def test_vcjobs_are_not_reviewed_where_nobody_runs_them() -> None:
    values: Obj = {"webhook": {"jobs": True}, "controllers": {"jobs": False}}
    kinds = {each["kind"] for each in objects_of(values)}
    assert not kinds & {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "Secret"}


def test_what_the_pods_renew_themselves_is_alike_in_all_renderings() -> None:
    values = VALUES["certificates that the pods renew themselves"]
    first, again = (helm.Chart.load(CHART).render(values=values, name=RELEASE) for _ in range(2))
    assert first == again
    objects = objects_of(values)
    assert "data" not in one(objects, "Secret")
    hooks = one(objects, "ValidatingWebhookConfiguration")["webhooks"]
    assert all("caBundle" not in hook["clientConfig"] for hook in hooks)
    options = options_in(objects)
    assert options.tls_secret == f"{NAMESPACE}/vsched-certificate"
    assert options.webhook_configuration == one(objects, "MutatingWebhookConfiguration")["metadata"]["name"]


def test_the_examples_for_gitops_have_values_that_can_be_rendered_again_and_again() -> None:
    argo, flux = (
        yaml.safe_load((CHART.parent / "examples" / name).read_text()) for name in ("argo-cd.yaml", "flux.yaml")
    )
    for values in (argo["spec"]["source"]["helm"]["valuesObject"], flux["spec"]["values"]):
        assert "Secret" not in [each["kind"] for each in objects_of(values) if "data" in each]
        assert not options_in(objects_of(values)).webhook_address or options_in(objects_of(values)).tls_secret


def test_with_cert_manager_nothing_secret_is_in_the_chart() -> None:
    objects = objects_of(VALUES["an arbitrator alone, its certificates by cert-manager"])
    certificate, hook = one(objects, "Certificate"), one(objects, "ValidatingWebhookConfiguration")
    assert "Secret" not in [each["kind"] for each in objects]
    assert "vsched.batch.svc" in certificate["spec"]["dnsNames"]
    assert hook["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == "batch/vsched-tls"
    assert hook["webhooks"][0]["failurePolicy"] == "Fail"


def test_with_a_secret_of_ones_own_its_authority_is_trusted() -> None:
    objects = objects_of(VALUES["arbitration with a certificate of one's own, and readers by name"])
    hook = one(objects, "ValidatingWebhookConfiguration")
    assert hook["webhooks"][0]["clientConfig"]["caBundle"] == "Y2E="
    assert hook["webhooks"][0]["failurePolicy"] == "Ignore"


def test_webhooks_ask_about_the_namespaces_that_are_selected() -> None:
    selector = {"matchLabels": {"team": "a"}}
    objects = objects_of({"webhook": {"jobs": True, "namespaceSelector": selector}})
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        assert [hook["namespaceSelector"] for hook in one(objects, kind)["webhooks"]] == [selector]


def test_the_page_has_addresses_and_objects_of_one_s_own_are_made() -> None:
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-mine"}}
    values: Obj = {"extraObjects": [extra, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"]}
    values["ingress"] = {"enabled": True, "hosts": ["a.example.com"]}
    values["httpRoute"] = {"enabled": True, "parentRefs": [{"name": "public"}]}
    objects = objects_of(values)
    (rule,) = one(objects, "Ingress")["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "vsched-leader", "port": {"name": "http"}}
    (rule,) = one(objects, "HTTPRoute")["spec"]["rules"]
    assert rule["backendRefs"] == [{"name": "vsched-leader", "port": 8080}]
    assert one(objects, "ConfigMap", "vsched-mine")
    assert one(objects, "ConfigMap", "more")


def test_prometheus_is_told_how_to_trust_what_is_served_over_tls() -> None:
    values: Obj = {"serviceMonitor": {"enabled": True, "endpoint": {"interval": "5s"}}}
    (endpoint,) = one(objects_of(values), "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint == {"port": "http", "path": "/metrics", "interval": "5s", "scrapeTimeout": "10s"}
    (endpoint,) = one(objects_of({**values, "tls": {"listen": True}}), "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    trust = {"serverName": "vsched.batch.svc", "ca": {"secret": {"name": "vsched-tls", "key": "ca.crt"}}}
    assert endpoint["tlsConfig"] == trust


# -- values

REFUSED: dict[str, tuple[Obj, str]] = {
    "a word that there is not": ({"replica": 2}, "replica"),
    "a word that there is not, deeper": ({"webhook": {"failPolicy": "Fail"}}, "failPolicy"),
    "several replicas that would all act": ({"leaderElection": {"enabled": False}}, "/leaderElection/enabled"),
    "nothing to do": ({"schedule": False}, "/arbitration/enabled"),
    "a shadow that would write": (
        {"shadow": {"enabled": True}, "arbitration": {"enabled": True}},
        "/arbitration/enabled",
    ),
    "a shadow with token reviews": (
        {"shadow": {"enabled": True}, "tls": {"listen": True}, "access": {"authentication": "tokenreview"}},
        "/access/authentication",
    ),
    "a time without a unit": ({"leaderElection": {"leaseDuration": "15"}}, "/leaderElection/leaseDuration"),
    "an unknown failure policy": ({"webhook": {"failurePolicy": "Open"}}, "/webhook/failurePolicy"),
    "cert-manager without an issuer": ({"tls": {"certificate": {"source": "cert-manager"}}}, "/issuerRef"),
    "a certificate of one's own that is nowhere": ({"tls": {"certificate": {"source": "secret"}}}, "/secretName"),
    "tokens in the clear": ({"access": {"authentication": "tokenreview"}}, "/tls/listen"),
    "a renewal that ends after the Lease": (
        {"leaderElection": {"leaseDuration": "15s", "renewDeadline": "1m"}},
        "leaderElection.renewDeadline: 1m is not shorter than leaseDuration (15s)",
    ),
    "a renewal that ends as the Lease does, in other units": (
        {"leaderElection": {"leaseDuration": "1m30s", "renewDeadline": "90s"}},
        "leaderElection.renewDeadline",
    ),
    "attempts further apart than their end": (
        {"leaderElection": {"retryPeriod": "10000ms"}},
        "leaderElection.retryPeriod: 10000ms is not shorter than renewDeadline (10s)",
    ),
    "a policy as text that is no YAML": ({"policy": {"text": "actions: [a"}}, "policy.text: no YAML document"),
    "a policy as text that is a sentence": ({"policy": {"text": "please"}}, "policy.text: no YAML document"),
    "a policy as text with another key": ({"policy": {"text": "action: a"}}, "policy.text: unknown key action"),
    "actions as a list": ({"policy": {"text": "actions: [allocate]"}}, "policy.text: actions: expected text"),
    "tiers of no plugins": ({"policy": {"text": "tiers: [gang]"}}, "policy.text: tiers[0]"),
    "a plugin without a name": ({"policy": {"text": "tiers: [{plugins: [{nam: x}]}]"}}, "tiers[0].plugins[0]"),
    "a route to no gateway": ({"httpRoute": {"enabled": True}}, "/httpRoute/parentRefs"),
    "an Ingress for no host": ({"ingress": {"enabled": True}}, "/ingress/hosts"),
    "a policy with a word that there is not": ({"policy": {"content": {"action": "allocate"}}}, "action"),
    "root": ({"podSecurityContext": {"runAsUser": 0}}, "/podSecurityContext/runAsUser"),
    "a flag that is none": ({"extraArgs": ["-v"]}, "/extraArgs/0"),
}


@pytest.mark.parametrize(("values", "where"), REFUSED.values(), ids=REFUSED.keys())
def test_values_are_refused_where_they_are_wrong(values: Obj, where: str) -> None:
    with pytest.raises(helm.HelmError) as caught:
        files_of(values)
    assert where in str(caught.value)


def stated(values: Obj, path: str = "") -> Iterator[str]:
    """The path of every value."""
    for name, value in values.items():
        yield f"{path}/{name}"
        if isinstance(value, dict):
            yield from stated(value, f"{path}/{name}")


def allowed(schema: Obj, path: str = "") -> Iterator[str]:
    """The path of every value that a schema names."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}/{name}"
        yield from allowed(inner, f"{path}/{name}")


def test_every_value_that_may_be_set_is_in_the_file_of_values() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    found = set(stated(yaml.safe_load((CHART / "values.yaml").read_text())))
    missing = {path for path in set(allowed(schema)) - found if not path.startswith("/tls/certificate/issuerRef/")}
    assert missing == {
        "/global",
        *(f"/policy/content/{key}" for key in ("configurations", "metrics", "schedulePeriod", "autoscaling")),
    }


@pytest.mark.parametrize("seed", seeds(12, "values that an older chart did not have"))
def test_a_value_that_an_older_chart_did_not_have_is_not_needed_or_named(seed: int) -> None:
    """``helm upgrade --reuse-values`` takes them from the release before."""
    paths = sorted(stated(yaml.safe_load((CHART / "values.yaml").read_text())))
    *above, name = Random(seed).choice(paths).strip("/").split("/")
    values: Obj = {}
    inner = values
    for key in above:
        inner = inner.setdefault(key, {})
    inner[name] = None
    said = refusal_of(values)
    assert not said or f"missing property '{name}'" in said


def refusal_of(values: Obj) -> str:
    """What Helm says against values; empty where it takes them."""
    try:
        files_of(values)
    except helm.HelmError as refused:
        return str(refused)
    return ""


def test_flags_of_one_s_own_are_passed_on() -> None:
    options = options_in(objects_of({"extraArgs": ["--event-qps=7"]}))
    assert options.event_qps == 7


def test_every_flag_that_is_an_everyday_choice_has_a_value() -> None:
    everywhere = {
        argument.partition("=")[0]
        for objects in map(objects_of, VALUES.values())
        for container in deployments_of(objects)
        for argument in container_of(objects, container)["args"]
    }
    known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    assert everywhere - {"run"} <= known
    assert {"--arbitrate-grace", "--eviction-mode", "--kube-api-qps", "--no-queue-controller"} <= everywhere


# -- notes


def test_the_image_is_the_one_that_the_steps_of_the_readme_make() -> None:
    image = container_of(objects_of({}))["image"]
    made = subprocess.run(["make", "--dry-run", "image"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"docker build -f helm/image/Dockerfile --build-arg BASE=\S+ -t {re.escape(image)} dist", made)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"kind load docker-image {image} " in readme
    assert "helm install vsched helm/vsched --namespace vsched --create-namespace\n" in readme


@CASES
def test_a_service_with_a_selector_always_leads_to_the_pod_of_the_leader(values: Obj) -> None:
    objects = objects_of(values)
    leader = one(objects, "Service", "vsched-leader")["spec"]["selector"]
    pods = deployments_of(objects)[SCHEDULER]["spec"]["template"]["metadata"]["labels"]
    options = options_in(objects)
    assert leader.items() - pods.items() == ({(LEADER_LABEL, options.lease.name)} if not options.shadow else set())
    assert options.shadow or leader_pod_of(options) == (NAMESPACE, POD)
    assert "port-forward service/vsched-leader 8080" in files_of(values)["NOTES.txt"]


NOTES = {
    "names whom pods are to choose": ({}, "spec.schedulerName: vsched"),
    "names the Lease": ({}, "get lease vsched"),
    "warns of Volcano's scheduler": ({"schedulerNames": ["volcano"]}, "scale down Volcano's scheduler"),
    "warns of Volcano's controllers": (
        {},
        "--set controllers.queues=false,controllers.podGroups=false",
    ),
    "names the namespaces of vcjobs": (
        {"controllers": {"jobNamespaces": ["team-a", "team-b"]}},
        "(controllers.jobNamespaces): team-a, team-b",
    ),
    "warns of a single replica": ({"replicas": 1}, "One replica"),
    "warns of deleting": ({"evictionMode": "delete"}, "Victims are deleted"),
    "says where kube-scheduler asks": (
        {"arbitration": {"enabled": True}},
        "http://vsched-leader.batch.svc:8080/extender",
    ),
    "says where the page is": ({}, "http://localhost:8080/       in a browser"),
    "says what is to be made": ({"policy": {"existingConfigMap": "theirs"}}, "the ConfigMap theirs"),
    "says that roles are missing": ({"rbac": {"create": False}}, "vsched rbac"),
}


@pytest.mark.parametrize(("values", "text"), NOTES.values(), ids=NOTES.keys())
def test_notes(values: Obj, text: str) -> None:
    assert text in files_of(values)["NOTES.txt"]


@pytest.mark.parametrize(("replicas", "volcano"), list(product((1, 2), (True, False))))
def test_notes_warn_of_nothing_that_is_not_so(replicas: int, volcano: bool) -> None:
    notes = files_of({"replicas": replicas, "schedulerNames": ["volcano"] if volcano else ["vsched"]})["NOTES.txt"]
    assert ("One replica" in notes) == (replicas == 1)
    assert ("scale down Volcano" in notes) == volcano


def test_the_alerts_that_are_not_wanted_are_left_out() -> None:
    values: Obj = {"prometheusRule": {"enabled": True}}
    everything = [rule["alert"] for rule in one(objects_of(values), "PrometheusRule")["spec"]["groups"][0]["rules"]]
    values["prometheusRule"]["disabled"] = [everything[0]]
    found = one(objects_of(values), "PrometheusRule")
    assert [rule["alert"] for rule in found["spec"]["groups"][0]["rules"]] == everything[1:]

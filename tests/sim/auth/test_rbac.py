"""Who may do what in an embedded cluster with ``--authorization rbac``: over HTTP, word for word, and by kubectl."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.api_client import PODS, Api, Obj, Reply, pod
from tests.support.examples import examples
from tests.support.kubectl import KUBECTL
from vsched.errors import Unavailable
from vsched.kube.auth.config import load_connection
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.sim.auth.rbac import covers
from vsched.sim.authentication import (
    ADMIN,
    AUDIENCE,
    AUTHENTICATED,
    TokenAuthenticator,
    UserInfo,
    account_of,
    account_user,
)
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.requests.attributes import Attributes
from vsched.sim.store.store import Store

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCESS = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SCHEDULER = "system:serviceaccount:default:scheduler"
LOCKED = ClusterSettings(None, "rbac")


class Locked:
    """A locked cluster, and one client for whoever asks."""

    def __init__(self, cluster: Cluster, session: aiohttp.ClientSession) -> None:
        self.cluster = cluster
        self.api = Api(session)

    async def ask(self, who: str | None, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """A request as a static user of that name, or with no token for None."""
        if who is not None and not any(user.name == who for user in self.cluster.tokens.static.values()):
            account = account_of(who)
            user = account_user(*account) if account else UserInfo(who, (AUTHENTICATED,))
            self.cluster.tokens.static[f"token-of-{who}"] = user
        token = {} if who is None else {"Authorization": f"Bearer {self.token(who)}"}
        return await self.api.request(method, path, body, **token, **headers)

    def token(self, who: str) -> str:
        return next(token for token, user in self.cluster.tokens.static.items() if user.name == who)

    async def admin(self, method: str, path: str, body: Any = None) -> Obj:
        """Something an administrator does with success."""
        reply = await self.ask(ADMIN.name, method, path, body)
        assert reply.code in (200, 201), reply.body
        made: Obj = reply.body
        return made

    async def role(self, name: str, *rules: Obj, namespace: str = "", **more: Any) -> None:
        body = {"metadata": {"name": name, "labels": more.pop("labels", {})}, "rules": list(rules), **more}
        await self.admin("POST", f"{RBAC}/{_place(namespace)}{'roles' if namespace else 'clusterroles'}", body)

    async def bind(self, role: str, *subjects: Obj, namespace: str = "", kind: str = "") -> None:
        kind = kind or ("Role" if namespace else "ClusterRole")
        reference = {"kind": kind, "name": role, "apiGroup": "rbac.authorization.k8s.io"}
        body = {"metadata": {"name": f"of-{role}"}, "roleRef": reference, "subjects": list(subjects)}
        await self.admin("POST", f"{RBAC}/{_place(namespace)}{'role' if namespace else 'clusterrole'}bindings", body)

    async def give(self, who: str, *rules: Obj, namespace: str = "") -> None:
        """A role of its own to one user."""
        await self.role("given", *rules, namespace=namespace)
        await self.bind("given", user(who), namespace=namespace)


def _place(namespace: str) -> str:
    return f"namespaces/{namespace}/" if namespace else ""


def rule(verbs: str, resources: str, *names: str, groups: str = "") -> Obj:
    found: Obj = {"verbs": verbs.split(), "apiGroups": groups.split(",") if groups else [""]}
    return {**found, "resources": resources.split(), **({"resourceNames": list(names)} if names else {})}


def user(name: str) -> Obj:
    account = account_of(name)
    if account is not None:
        return {"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def group(name: str) -> Obj:
    return {"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


@pytest.fixture
async def locked() -> AsyncIterator[Locked]:
    async with Cluster(settings=LOCKED) as cluster, aiohttp.ClientSession(cluster.url) as session:
        yield Locked(cluster, session)


# -- who asks


async def test_a_token_that_nobody_has_is_unauthorized(locked: Locked) -> None:
    reply = await locked.api.get("/api/v1/pods", Authorization="Bearer nonsense")
    assert (reply.code, reply.body) == (
        401,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
         "reason": "Unauthorized", "code": 401},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("/healthz", 200, id="health"),
        pytest.param("/version", 200, id="the version"),
        pytest.param("/api", 403, id="not discovery"),
        pytest.param("/api/v1/nodes", 403, id="nothing else"),
    ],
)
async def test_what_those_without_a_token_may_see(locked: Locked, path: str, code: int) -> None:
    assert (await locked.ask(None, "GET", path)).code == code


async def test_whoever_has_a_token_may_see_what_is_served_and_ask_what_they_may_do(locked: Locked) -> None:
    assert (await locked.ask("jane", "GET", "/apis/apps/v1")).code == 200
    reply = await locked.ask("jane", "POST", f"{AUTHENTICATION}/selfsubjectreviews", {})
    assert reply.body["status"] == {"userInfo": {"username": "jane", "groups": [AUTHENTICATED]}}


async def test_tokens_come_and_go_while_the_cluster_runs(locked: Locked) -> None:
    assert (await locked.ask("jane", "GET", "/api")).code == 200
    locked.cluster.tokens.static.pop("token-of-jane")
    assert (await locked.api.get("/api", Authorization="Bearer token-of-jane")).code == 401


async def test_the_kubeconfig_has_a_token_and_is_for_nobody_else(locked: Locked, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("older")
    path.chmod(0o644)
    locked.cluster.write_kubeconfig(path)
    token = yaml.safe_load(path.read_text())["users"][0]["user"]["token"]
    assert (await locked.api.get("/api/v1/nodes", Authorization=f"Bearer {token}")).code == 200
    assert path.stat().st_mode & 0o777 == 0o600


# -- what is refused, word for word

REFUSALS = [
    pytest.param("GET", "/api/v1/pods", 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at'
                 " the cluster scope", {"kind": "pods"}, id="a list of everything"),
    pytest.param("GET", f"{PODS}?watch=1", 'pods is forbidden: User "jane" cannot watch resource "pods" in API group ""'
                 ' in the namespace "default"', {"kind": "pods"}, id="a watch of a namespace"),
    pytest.param("GET", f"{PODS}/p", 'pods "p" is forbidden: User "jane" cannot get resource "pods" in API group "" in'
                 ' the namespace "default"', {"kind": "pods", "name": "p"}, id="one object"),
    pytest.param("POST", f"{PODS}/p/binding", 'pods "p" is forbidden: User "jane" cannot create resource "pods/binding"'
                 ' in API group "" in the namespace "default"', {"kind": "pods", "name": "p"}, id="a subresource"),
    pytest.param("DELETE", "/apis/apps/v1/namespaces/default/deployments", 'deployments.apps is forbidden: User "jane"'
                 ' cannot deletecollection resource "deployments" in API group "apps" in the namespace "default"',
                 {"kind": "deployments", "group": "apps"}, id="a collection of a group"),
    pytest.param("GET", "/api/v1/namespaces/x", 'namespaces "x" is forbidden: User "jane" cannot get resource'
                 ' "namespaces" in API group "" in the namespace "x"', {"kind": "namespaces", "name": "x"},
                 id="a namespace, which lies in itself"),
    pytest.param("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn", 'nodes "n" is forbidden: User "jane" cannot'
                 ' list resource "nodes" in API group "" at the cluster scope', {"kind": "nodes", "name": "n"},
                 id="a list of one name"),
    pytest.param("PUT", "/metrics", 'forbidden: User "jane" cannot put path "/metrics"', {}, id="a path"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "message", "details"), REFUSALS)
async def test_refusals_are_those_of_a_real_server(
    locked: Locked, method: str, path: str, message: str, details: Obj
) -> None:
    reply = await locked.ask("jane", method, path)
    assert (reply.code, reply.reason, reply.message) == (403, "Forbidden", message)
    assert reply.body["details"] == details


async def test_a_role_that_is_bound_and_not_there_is_named_in_the_refusal(locked: Locked) -> None:
    await locked.bind("ghost", user("jane"))
    reply = await locked.ask("jane", "GET", "/api/v1/nodes")
    assert reply.message.endswith('at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found')


async def test_a_write_that_is_refused_is_not_carried_out(locked: Locked) -> None:
    assert (await locked.ask("jane", "POST", PODS, pod("p"))).code == 403
    assert (await locked.ask(ADMIN.name, "GET", f"{PODS}/p")).code == 404


# -- what is allowed


async def test_a_binding_gives_what_its_role_says_and_takes_it_when_it_goes(locked: Locked) -> None:
    await locked.give("jane", rule("get list", "pods"))
    assert (await locked.ask("jane", "GET", "/api/v1/pods")).code == 200
    assert (await locked.ask("jane", "GET", "/api/v1/pods?watch=1")).code == 403
    await locked.admin("DELETE", f"{RBAC}/clusterrolebindings/of-given")
    assert (await locked.ask("jane", "GET", "/api/v1/pods")).code == 403


async def test_an_edit_of_a_role_is_in_force_at_once(locked: Locked) -> None:
    await locked.give("jane", rule("list", "pods"))
    assert (await locked.ask("jane", "GET", "/api/v1/nodes")).code == 403
    body = {"metadata": {"name": "given"}, "rules": [rule("list", "nodes")]}
    await locked.admin("PUT", f"{RBAC}/clusterroles/given", body)
    assert (await locked.ask("jane", "GET", "/api/v1/nodes")).code == 200
    assert (await locked.ask("jane", "GET", "/api/v1/pods")).code == 403


async def test_a_role_of_a_namespace_reaches_no_further(locked: Locked) -> None:
    await locked.give("jane", rule("list", "pods"), namespace="default")
    assert (await locked.ask("jane", "GET", PODS)).code == 200
    assert (await locked.ask("jane", "GET", "/api/v1/namespaces/kube-system/pods")).code == 403
    assert (await locked.ask("jane", "GET", "/api/v1/pods")).code == 403


async def test_a_cluster_role_may_be_given_in_one_namespace(locked: Locked) -> None:
    await locked.role("reader", rule("list", "pods"))
    await locked.bind("reader", group("team"), namespace="default", kind="ClusterRole")
    locked.cluster.tokens.static["t"] = UserInfo("joe", ("team", AUTHENTICATED))
    assert (await locked.ask("joe", "GET", PODS)).code == 200
    assert (await locked.ask("joe", "GET", "/api/v1/pods")).code == 403


async def test_aggregated_roles_hold_what_the_roles_they_select_hold(locked: Locked) -> None:
    chosen = {"clusterRoleSelectors": [{"matchLabels": {"to": "wide"}}]}
    await locked.role("wide", aggregationRule=chosen, labels={"to": "wide"})
    await locked.bind("wide", user("jane"))
    assert (await locked.ask("jane", "GET", "/api/v1/nodes")).code == 403
    await locked.role("part", rule("list", "nodes"), labels={"to": "wide"})
    assert (await locked.ask("jane", "GET", "/api/v1/nodes")).code == 200


RULES = [
    pytest.param(rule("get", "pods"), Attributes("get", "", "pods", name="p"), True, id="verb, group and resource"),
    pytest.param(rule("get", "pods"), Attributes("get", "apps", "pods"), False, id="another group"),
    pytest.param(rule("get", "pods", groups="*"), Attributes("get", "apps", "pods"), True, id="any group"),
    pytest.param(rule("*", "pods"), Attributes("impersonate", "", "pods"), True, id="any verb"),
    pytest.param(rule("create", "pods"), Attributes("create", "", "pods", "binding"), False, id="not a subresource"),
    pytest.param(rule("create", "pods/binding"), Attributes("create", "", "pods", "binding"), True, id="a subresource"),
    pytest.param(rule("create", "pods/binding"), Attributes("create", "", "pods"), False, id="nothing but that"),
    pytest.param(rule("get", "*/status"), Attributes("get", "", "nodes", "status"), True, id="one of any resource"),
    pytest.param(rule("get", "*/status"), Attributes("get", "", "nodes"), False, id="which is not the resource"),
    pytest.param(rule("get", "*"), Attributes("get", "", "nodes", "status"), True, id="any resource and subresource"),
    pytest.param(rule("get", "pods", "p"), Attributes("get", "", "pods", name="p"), True, id="by name"),
    pytest.param(rule("get", "pods", "p"), Attributes("get", "", "pods", name="q"), False, id="not another name"),
    pytest.param(rule("*", "pods", "p"), Attributes("list", "", "pods"), False, id="a name does not allow a list"),
    pytest.param({"verbs": ["get"], "nonResourceURLs": ["/a/*"]}, Attributes("get", path="/a/b/c"), True, id="below"),
    pytest.param({"verbs": ["get"], "nonResourceURLs": ["/a/*"]}, Attributes("get", path="/a"), False, id="not above"),
    pytest.param({"verbs": ["get"], "nonResourceURLs": ["/a"]}, Attributes("get", path="/a/b"), False, id="exactly"),
    pytest.param({"verbs": ["get"], "nonResourceURLs": ["*"]}, Attributes("get", "", "pods"), False, id="only paths"),
    pytest.param(rule("get", "*", groups="*"), Attributes("get", path="/a"), False, id="only resources"),
]


@pytest.mark.parametrize(("given_rule", "wanted", "allowed"), RULES)
def test_one_rule(given_rule: Obj, wanted: Attributes, allowed: bool) -> None:
    assert covers(given_rule, wanted) is allowed


words = st.sampled_from(["a", "b", "c"])
requests = st.builds(Attributes, words, words, words, words | st.just(""), words, words | st.just(""))


@given(requests, requests)
@settings(max_examples=examples(40), deadline=None)
def test_a_rule_made_of_a_request_allows_that_and_nothing_else_but_its_kind(one: Attributes, other: Attributes) -> None:
    made = {"verbs": [one.verb], "apiGroups": [one.group], "resources": [one.combined]}
    assert covers(made, one)
    same = (one.verb, one.group, one.combined) == (other.verb, other.group, other.combined)
    assert covers(made, other) is same


# -- service accounts


async def test_a_service_account_gets_a_token_and_acts_by_it(locked: Locked) -> None:
    made = await locked.admin("POST", ACCOUNTS, {"metadata": {"name": "scheduler"}})
    asked = {"spec": {"expirationSeconds": 900}}
    reply = await locked.ask(ADMIN.name, "POST", f"{ACCOUNTS}/scheduler/token", asked)
    assert (reply.code, reply.body["kind"], reply.body["spec"]["audiences"]) == (201, "TokenRequest", [AUDIENCE])
    bearer = {"Authorization": f"Bearer {reply.body['status']['token']}"}
    assert (await locked.api.get("/api/v1/pods", **bearer)).message.startswith(
        f'pods is forbidden: User "{SCHEDULER}" cannot list'
    )
    await locked.give(SCHEDULER, rule("list", "pods"))
    assert (await locked.api.get("/api/v1/pods", **bearer)).code == 200
    review = await locked.admin(
        "POST", f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": reply.body["status"]["token"]}}
    )
    assert review["status"]["authenticated"] is True
    told = review["status"]["user"]
    assert (told["username"], told["uid"]) == (SCHEDULER, made["metadata"]["uid"])
    assert told["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", AUTHENTICATED]
    await locked.admin("DELETE", f"{ACCOUNTS}/scheduler")
    assert (await locked.api.get("/api/v1/pods", **bearer)).code == 401
    await locked.admin("POST", ACCOUNTS, {"metadata": {"name": "scheduler"}})
    assert (await locked.api.get("/api/v1/pods", **bearer)).code == 401, "the account is another one of that name"


async def test_a_token_goes_with_what_it_is_bound_to(locked: Locked) -> None:
    await locked.admin("POST", ACCOUNTS, {"metadata": {"name": "scheduler"}})
    secrets = "/api/v1/namespaces/default/secrets"
    await locked.admin("POST", secrets, {"metadata": {"name": "s"}})
    bound = {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}}}
    made = await locked.admin("POST", f"{ACCOUNTS}/scheduler/token", bound)
    bearer = {"Authorization": f"Bearer {made['status']['token']}"}
    assert (await locked.api.get("/api", **bearer)).code == 200
    await locked.admin("DELETE", f"{secrets}/s")
    assert (await locked.api.get("/api", **bearer)).code == 401


TOKEN_REQUESTS = [
    pytest.param("nobody", {}, 404, 'serviceaccounts "nobody" not found', id="of no account"),
    pytest.param("a", {"expirationSeconds": 5}, 422, "may not specify a duration less than 10 minutes", id="too short"),
    pytest.param("a", {"expirationSeconds": 1 << 33}, 422, "larger than 2^32 seconds", id="too long"),
    pytest.param("a", {"boundObjectRef": {"kind": "Pod", "name": "p"}}, 404, 'pods "p" not found', id="bound to none"),
    pytest.param("a", {"boundObjectRef": {"kind": "Job", "name": "p"}}, 422, "boundObjectRef.kind", id="to a Job"),
    pytest.param("a", {"boundObjectRef": {"kind": "Secret", "name": "s", "uid": "x"}}, 409, "the UID in the bound",
                 id="bound to one of before"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "spec", "code", "message"), TOKEN_REQUESTS)
async def test_tokens_that_are_not_given(locked: Locked, name: str, spec: Obj, code: int, message: str) -> None:
    await locked.admin("POST", ACCOUNTS, {"metadata": {"name": "a"}})
    await locked.admin("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})
    reply = await locked.ask(ADMIN.name, "POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})
    assert reply.code == code
    assert message in reply.message


async def test_a_token_is_good_for_its_time_and_its_audience(locked: Locked) -> None:
    await locked.admin("POST", ACCOUNTS, {"metadata": {"name": "a"}})
    tokens = locked.cluster.tokens
    token = tokens.request("default", "a", {"spec": {"expirationSeconds": 600}})["status"]["token"]
    vault = tokens.request("default", "a", {"spec": {"audiences": ["vault"]}})["status"]["token"]
    assert (await locked.api.get("/api", Authorization=f"Bearer {token}")).code == 200
    assert (await locked.api.get("/api", Authorization=f"Bearer {vault}")).code == 401
    review = {"spec": {"token": vault, "audiences": ["vault", "other"]}}
    told = await locked.admin("POST", f"{AUTHENTICATION}/tokenreviews", review)
    assert told["status"]["audiences"] == ["vault"]
    tokens.now = lambda: datetime.now(UTC) + timedelta(seconds=601)
    assert (await locked.api.get("/api", Authorization=f"Bearer {token}")).code == 401
    refused = await locked.admin("POST", f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": token}})
    assert refused["status"] == {"user": {}, "error": "[token has expired]"}


@given(st.text(max_size=40) | st.from_regex(r"[\w-]{0,9}(\.[\w-]{0,9}){0,3}", fullmatch=True))
@settings(max_examples=examples(40), deadline=None)
def test_text_that_is_no_token_is_nobodys(text: str) -> None:
    tokens = TokenAuthenticator(Store())
    with pytest.raises(Exception, match="invalid bearer token"):
        tokens.check(text, (AUDIENCE,))


# -- asking what may be done


def asked(verb: str, resource: str, subresource: str = "", namespace: str = "") -> Obj:
    return {
        "resourceAttributes": {"verb": verb, "resource": resource, "subresource": subresource, "namespace": namespace}
    }


async def test_reviews_answer_what_requests_would_get(locked: Locked) -> None:
    await locked.give("jane", rule("create", "pods/binding"))
    because = 'RBAC: allowed by ClusterRoleBinding "of-given" of ClusterRole "given" to User "jane"'
    mine = f"{ACCESS}/selfsubjectaccessreviews"
    reply = await locked.ask("jane", "POST", mine, {"spec": asked("create", "pods", "binding")})
    assert (reply.code, reply.body["status"]) == (201, {"allowed": True, "reason": because})
    reply = await locked.ask("jane", "POST", mine, {"spec": asked("create", "pods")})
    assert reply.body["status"] == {"allowed": False}
    of_path = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}}
    reply = await locked.ask("jane", "POST", mine, of_path)
    assert reply.body["status"]["allowed"] is True
    others = f"{ACCESS}/subjectaccessreviews"
    body = {"spec": {**asked("create", "pods", "binding"), "user": "jane"}}
    assert (await locked.admin("POST", others, body))["status"]["reason"] == because
    assert (await locked.ask("jane", "POST", others, body)).code == 403


async def test_everything_somebody_may_do(locked: Locked) -> None:
    await locked.give(SCHEDULER, rule("get", "pods", "p"), namespace="default")
    path = f"{ACCESS}/selfsubjectrulesreviews"
    status = (await locked.ask(SCHEDULER, "POST", path, {"spec": {"namespace": "default"}})).body["status"]
    assert {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]} in status[
        "resourceRules"
    ]
    assert status["incomplete"] is False
    assert any("/healthz" in each["nonResourceURLs"] for each in status["nonResourceRules"])


REVIEWS = [
    pytest.param("subjectaccessreviews", asked("get", "pods"), "at least one of user or group", id="about nobody"),
    pytest.param("selfsubjectaccessreviews", {}, "exactly one of nonResourceAttributes", id="about nothing"),
    pytest.param("namespaces/default/localsubjectaccessreviews", {**asked("get", "pods", namespace="x"), "user": "u"},
                 "must match metadata.namespace", id="about another namespace"),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "spec", "message"), REVIEWS)
async def test_reviews_that_cannot_be_answered(locked: Locked, resource: str, spec: Obj, message: str) -> None:
    reply = await locked.ask(ADMIN.name, "POST", f"{ACCESS}/{resource}", {"spec": spec})
    assert reply.code == 422
    assert message in reply.message


async def test_acting_as_somebody_else_is_a_right_of_its_own(locked: Locked) -> None:
    review = f"{AUTHENTICATION}/selfsubjectreviews"
    refused = await locked.ask("jane", "POST", review, {}, Impersonate_User="joe")
    assert refused.message == (
        'users "joe" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
    told = await locked.ask(ADMIN.name, "POST", review, {}, Impersonate_User="joe", Impersonate_Group="team")
    assert told.body["status"]["userInfo"] == {"username": "joe", "groups": ["team", AUTHENTICATED]}
    told = await locked.ask(ADMIN.name, "POST", review, {}, Impersonate_User=SCHEDULER)
    assert told.body["status"]["userInfo"]["groups"][0] == "system:serviceaccounts"
    assert (await locked.ask(ADMIN.name, "POST", review, {}, Impersonate_Group="team")).code == 500


async def test_without_authorization_everybody_may_do_everything_and_tokens_can_still_be_had() -> None:
    async with Cluster(settings=ClusterSettings(None)) as cluster, aiohttp.ClientSession(cluster.url) as session:
        api = Api(session)
        assert (await api.get("/api/v1/pods", Authorization="Bearer nonsense")).code == 200
        review = await api.post(f"{ACCESS}/selfsubjectaccessreviews", {"spec": asked("delete", "nodes")})
        assert review.body["status"] == {"allowed": True}
        await api.made(ACCOUNTS, {"metadata": {"name": "a"}})
        assert (await api.post(f"{ACCOUNTS}/a/token", {})).body["status"]["token"].count(".") == 2
        assert "token" not in cluster.kubeconfig()["users"][0]["user"]


# -- kubectl


@pytest.mark.kubectl
async def test_kubectl_asks_gets_tokens_and_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"

    async def kubectl(*arguments: str) -> str:
        started = await asyncio.create_subprocess_exec(
            *(KUBECTL, "--kubeconfig", str(path), "--cache-dir", str(tmp_path), *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await asyncio.wait_for(started.communicate(), 60.0)
        return printed.decode()

    async with Cluster(settings=ClusterSettings(None, "rbac", tls=True)) as cluster:
        cluster.write_kubeconfig(path)
        cluster.client.create("serviceaccounts", {"metadata": {"name": "scheduler", "namespace": "default"}})
        role = {"metadata": {"name": "r"}, "rules": [rule("create", "pods/binding"), rule("list", "pods")]}
        cluster.client.create("rbac.authorization.k8s.io/clusterroles", role)
        reference = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [user(SCHEDULER)]}
        cluster.client.create("rbac.authorization.k8s.io/clusterrolebindings", binding)
        who = ("--as", SCHEDULER)
        can, cannot, listed, token = await asyncio.gather(
            kubectl("auth", "can-i", "create", "pods", "--subresource", "binding", *who),
            kubectl("auth", "can-i", "delete", "pods", *who),
            kubectl("get", "nodes", *who),
            kubectl("create", "token", "scheduler"),
        )
        assert (can, cannot) == ("yes\n", "no\n")
        assert f'nodes is forbidden: User "{SCHEDULER}" cannot list resource "nodes"' in listed
        assert cluster.tokens.user_of(f"Bearer {token.strip()}").name == SCHEDULER


@pytest.mark.real_time
async def test_over_tls_our_own_client_trusts_the_kubeconfig_and_nobody_else_the_server(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with Cluster(settings=ClusterSettings(None, "rbac", tls=True)) as cluster:
        cluster.write_kubeconfig(path)
        async with ApiClient(load_connection(path)) as client:
            assert (await client.get("/api/v1/nodes"))["kind"] == "NodeList"
        async with ApiClient(Connection(cluster.url)) as stranger:
            with pytest.raises(Unavailable, match="TLS handshake failed"):
                await stranger.get("/version")


@pytest.mark.parametrize(
    ("resources", "status", "code"),
    [
        pytest.param("resourceclaims/status", {"devices": []}, 200, id="the rest of the status"),
        pytest.param("resourceclaims/status", {"allocation": {}}, 403, id="an allocation without the right to bind"),
        pytest.param("resourceclaims/status resourceclaims/binding", {"allocation": {}}, 200, id="with it"),
    ],
)
async def test_who_allocates_a_claim_needs_the_right_to_bind_it(
    locked: Locked, resources: str, status: Obj, code: int
) -> None:
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    await locked.admin("POST", claims, {"metadata": {"name": "c"}, "spec": {}})
    await locked.give(SCHEDULER, rule("patch", resources, groups="resource.k8s.io"))
    content = {"Content_Type": "application/merge-patch+json"}
    reply = await locked.ask(SCHEDULER, "PATCH", f"{claims}/c/status", {"status": status}, **content)
    assert reply.code == code, reply.body
    if code == 403:
        assert 'cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io"' in reply.message

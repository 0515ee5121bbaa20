"""The arguments of plugins are read as Volcano reads them, and what cannot be read is said."""

from __future__ import annotations

import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.plugins import plugin_problems
from vsched.controllers.vcjobs.plugins.env import Env
from vsched.controllers.vcjobs.plugins.pytorch import Pytorch
from vsched.controllers.vcjobs.plugins.ray import Ray
from vsched.controllers.vcjobs.plugins.svc import Svc


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param((), Pytorch(), id="nothing: all defaults"),
        pytest.param(("--master=chief", "--port=2000"), Pytorch(master="chief", port=2000), id="with two dashes"),
        pytest.param(("-master=chief",), Pytorch(master="chief"), id="with one dash"),
        pytest.param(("--master", "chief"), Pytorch(master="chief"), id="the value as an argument of its own"),
        pytest.param(("--port=1", "--port=2"), Pytorch(port=2), id="the last one counts"),
        pytest.param(
            ("--wait-master-enabled",), Pytorch(wait_master_enabled=True), id="a switch without a value is on"
        ),
        pytest.param(("--wait-master-enabled=F",), Pytorch(), id="a switch can be off"),
        pytest.param(
            ("--wait-master-enabled", "--port=3"),
            Pytorch(wait_master_enabled=True, port=3),
            id="a switch takes no argument after it",
        ),
    ],
)
def test_arguments_are_those_of_a_command_line(arguments: tuple[str, ...], expected: Pytorch) -> None:
    assert Pytorch.parse(arguments) == (expected, [])


def test_names_of_arguments_are_those_of_volcano() -> None:
    svc = Svc.parse(("--publish-not-ready-addresses", "--disable-network-policy", "--inject-hosts-env=false"))
    assert svc == (Svc(publish_not_ready_addresses=True, disable_network_policy=True, inject_hosts_env=False), [])
    ray = Ray.parse(("--headContainer=h", "--workerContainer=w", "--dashboardPort=1", "--clientPort=2"))
    assert ray == (Ray(head_container="h", worker_container="w", dashboard_port=1, client_port=2), [])


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        pytest.param("--prot=1", "expected --master, --worker, --port, --wait-master-enabled", id="an unknown one"),
        pytest.param("port=1", "expected --master", id="one without a dash"),
        pytest.param("--port=many", "expected a whole number", id="no number"),
        pytest.param("--port", "expected a whole number", id="a number is missing"),
        pytest.param("--master", "expected a text", id="a text is missing"),
        pytest.param("--wait-master-enabled=yes", "expected true or false", id="neither true nor false"),
    ],
)
def test_an_argument_that_cannot_be_used_is_passed_over_and_said(argument: str, expected: str) -> None:
    plugin, problems = Pytorch.parse((argument, "--worker=w"))
    assert plugin == Pytorch(worker="w")
    (problem,) = problems
    assert problem.startswith(f"spec.plugins[pytorch]: {argument!r} (")
    assert expected in problem


def test_a_plugin_without_arguments_says_so() -> None:
    assert Env.parse(("--x=1",))[1] == ["spec.plugins[env]: '--x=1' (expected no arguments): ignored"]


@pytest.mark.parametrize(
    ("plugin", "arguments", "expected"),
    [
        pytest.param(
            "pytorch", (), ["no task 'master' (expected one of this name, or --master"], id="PyTorch's master"
        ),
        pytest.param("pytorch", ("--master=worker",), [], id="a task that there is"),
        pytest.param("mpi", ("--worker=w",), ["no task 'master'", "no task 'w'"], id="both roles of MPI"),
        pytest.param("ray", (), ["no task 'head'"], id="the head of Ray"),
        pytest.param("tensorflow", (), [], id="TensorFlow needs no particular role"),
        pytest.param("sshd", (), ["no plugin 'sshd' (expected env, svc, ssh,"], id="a plugin that there is not"),
    ],
)
def test_what_keeps_a_plugin_from_its_work_is_said(
    plugin: str, arguments: tuple[str, ...], expected: list[str]
) -> None:
    problems = plugin_problems(vcjob(task("worker"), plugins={plugin: arguments}))
    assert len(problems) == len(expected)
    assert all(text in problem for text, problem in zip(expected, problems, strict=True))

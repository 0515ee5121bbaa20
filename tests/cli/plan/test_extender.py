"""``vsched plan`` with an extender in the policy: it is called, and that is said."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from click.testing import CliRunner, Result

from tests.support.extending import extending, refusing
from tests.support.plans import manifests
from vsched.cli import cli
from vsched.cli.plan.words import flags as flags_words
from vsched.cli.plan.words import objects as objects_words
from vsched.plugins.words import nodes as nodes_words

CLUSTER = "node n1 cpu=4\nnode n2 cpu=4\njob x/a pods=1 cpu=1"


def invoke(tmp_path: Path, url: str) -> Result:
    arguments = {"extender.urlPrefix": url, "extender.predicateVerb": "predicate"}
    plugins = [{"name": "predicates"}, {"name": "extender", "arguments": arguments}]
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({"actions": "allocate", "tiers": [{"plugins": plugins}]}), encoding="utf-8")
    stdin = yaml.safe_dump_all(manifests(CLUSTER))
    return CliRunner().invoke(cli, ["plan", "-f", "-", "-o", "json", "--config", str(path)], input=stdin)


def test_the_plan_is_what_the_extender_makes_of_it(tmp_path: Path) -> None:
    with extending(predicate={"nodes": {"n1": {"errorMessage": "no licence"}}}) as server:
        found = invoke(tmp_path, server.url)

    assert json.loads(found.stdout)["cycles"][0]["binds"] == [{"pod": "x/a.0", "node": "n2"}]
    assert found.stderr == flags_words.calling_extender(server.url) + "\n"


def test_an_extender_that_does_not_answer_is_named_with_the_cause(tmp_path: Path) -> None:
    url = refusing()
    found = invoke(tmp_path, url)

    assert found.exit_code == 0
    why = f"{url}/predicate: [Errno 111] Connection refused"
    assert objects_words.extender_does_not_answer(why) in found.stderr.splitlines()
    assert json.loads(found.stdout)["unschedulable"]["x/a.0"]["reasons"] == {nodes_words.SILENT: 2}

"""Verbs as methods of `hawb.Cluster`: signatures, stubs, examples, warnings and tables."""

from __future__ import annotations

import ast
import warnings

import pytest

import hawb
from hawb import Cluster, RefusedWarning
from hawb.scenario import signatures
from hawb.scenario.verbs import VERBS


def test_stubs_agree_with_the_verbs():
    assert signatures.STUBS.read_text("utf-8") == signatures.stubs()
    [methods] = [node for node in ast.parse(signatures.stubs()).body if isinstance(node, ast.ClassDef)]
    assert {method.name for method in methods.body} == set(VERBS) - {"publish"}


def test_publish_has_the_fields_of_its_verb():
    own = signatures.inspect.signature(Cluster.publish).parameters
    fields = {field.name: field.default for field in signatures.structs.fields(VERBS["publish"])}
    assert set(own) - {"self", "at"} == set(fields) - {"queues"}
    assert all(own[name].default == fields[name] for name in ("size", "persistent", "mode", "node", "priority"))


@pytest.mark.filterwarnings("ignore::hawb.RefusedWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_example_of_each_verb_runs(verb):
    version = "4.3" if "khepri" in verb else "3.13"
    cluster = Cluster("a", "b", "c", version=version).declare("orders", node="a", arguments={"x-queue-type": "quorum"})
    steps = len(cluster.run.steps)
    example = getattr(Cluster, verb).__doc__.partition("Example: `")[2].partition("`")[0]
    assert example.startswith(f"cluster.{verb}(")
    eval(example, {"cluster": cluster})
    assert len(cluster.run.steps) == steps + 1


def test_refusal_warns_at_the_call():
    cluster = Cluster("a")
    with pytest.warns(RefusedWarning, match="RabbitMQ refused set_policy: Validation failed") as caught:
        cluster.set_policy("bad", "(", {"ha-mode": "all"})
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster.declare("orders")
    assert len(cluster.errors) == 1


def test_each_refusal_warns_once():
    cluster = Cluster("a", "b", version="3.10").stop("b")
    with pytest.warns(RefusedWarning) as caught:
        cluster.purge("none", at=5).purge("none", at=5.0001).publish("none", at=6).join("c").purge("none").stop("c")
    assert len(caught) == len(cluster.errors) == 3


def test_tables_are_plain_values_and_convert_to_frames():
    cluster = Cluster("a", "b").declare("orders", node="a").publish("orders", 10, persistent=False).kill("a")
    assert cluster.queues == cluster.outcome["queues"]
    assert cluster.queues.to_frame().loc["orders", "type"] == "classic"
    assert list(cluster.ledger.to_frame().index) == ["orders"]
    assert cluster.events.to_frame()["event"].tolist() == [event["event"] for event in cluster.outcome["events"]]
    assert len(cluster.losses.to_frame()) == len(cluster.losses)
    assert cluster.errors.to_frame().empty


def test_frame_without_pandas_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'hawb\[lab\]'"):
        Cluster("a").events.to_frame()


def test_public_names_are_listed():
    assert {"Cluster", "show", "RefusedWarning"} <= set(dir(hawb))
    assert all(getattr(hawb, name) is not None for name in dir(hawb))

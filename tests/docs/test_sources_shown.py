"""Pages generated from the code: complete, with examples from scenarios."""

from __future__ import annotations

import json

import pytest
import yaml
from click import Context

from hawb.cli import every_command
from hawb.docs import prose
from hawb.docs.file_pages import examples
from hawb.docs.python_page import PUBLIC
from hawb.docs.sources import BUILDER, BUILT_WITH, CHECKOUT, FURO, all_pages, look
from hawb.docs.struct_tables import structs_below
from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.scenario.document import Scenario
from hawb.scenario.expected import ExpectedOutcome
from hawb.scenario.kinds import fields_of
from hawb.scenario.verbs import VERBS
from hawb.study.question import Study
from hawb.views import style
from hawb.views.schemas import COMMANDS, kept

SCENARIOS = CHECKOUT / "data" / "scenarios"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text of each page by its name."""
    folder = tmp_path_factory.mktemp("pages")
    return {page.relative_to(folder).as_posix(): text for page, text in all_pages(folder).items()}


@pytest.mark.parametrize("page, of", [
    ("reference/scenario.md", Scenario), ("reference/scenario.md", ExpectedOutcome), ("reference/study.md", Study),
])  # fmt: skip
def test_format_page_lists_every_field_of_every_struct(pages: dict[str, str], page: str, of: type) -> None:
    text = pages[page] + pages["reference/scenario.md"]
    known = {field for struct in structs_below(of) for field in fields_of(struct)}
    assert [field for field in sorted(known) if f"| `{field}` |" not in text] == []


def test_every_verb_is_listed_with_fields_and_an_example(pages: dict[str, str]) -> None:
    sections = pages["reference/verbs.md"].split("\n### ")[1:]
    found = {section.split("`")[1]: section for section in sections}
    assert list(found) == list(VERBS)
    assert [name for name, text in found.items() if "```yaml" not in text] == []
    assert "| `if_empty` | true or false | `false` |" in found["delete"]
    assert "| field" not in found["kill"]
    assert "Written as one node, or a list of nodes" in found["kill"]


def test_examples_are_steps_of_the_scenarios_that_they_name() -> None:
    for verb, example in examples(SCENARIOS).items():
        [step] = yaml.safe_load(example.step)
        steps = yaml.safe_load((SCENARIOS / example.file).read_text("utf-8"))["steps"]
        assert verb in step
        assert step in steps


def test_every_command_is_listed_with_every_option(pages: dict[str, str]) -> None:
    found = {section.split("`")[1]: section for section in pages["reference/command.md"].split("\n## ")[1:]}
    assert set(found) == {f"hawb {name}" for name in every_command()}
    for name, command in every_command().items():
        shown = [one for one in command.get_params(Context(command)) if not getattr(one, "hidden", False)]
        options = [option for one in shown for option in one.opts if option[:2] == "--"]
        assert [option for option in options if option not in found[f"hawb {name}"]] == []
    assert "needs the extra `broker`" in found["hawb compare"]


def test_all_events_and_causes_are_listed(pages: dict[str, str]) -> None:
    text = pages["reference/events.md"]
    assert [name for name in (*EVENTS, *CAUSES) if f"| `{name}` |" not in text] == []


def test_all_public_names_are_described(pages: dict[str, str]) -> None:
    described = [part.partition(":::")[0] for part in pages["reference/python.md"].split(":::{py:")[1:]]
    names = {part.split("}")[1].strip().split("(")[0].split("\n")[0] for part in described}
    assert {f"Cluster.{verb}" for verb in VERBS} <= names
    assert {name for of in PUBLIC.values() for name in of} <= names
    assert [part for part in described if not part.startswith("module") and not part.partition("\n\n")[2].strip()] == []


@pytest.mark.parametrize("text, result", [
    ("One `a_b` of\n    two.", "One `a_b` of two."),
    ("A rate * 2, a_b.", "A rate \\* 2, a\\_b."),
    ("Two.\n\n* one\n  more\n* `two`", "Two.\n\n* one\n  more\n* `two`"),
    ("Code:\n\n    x = 1\n\nMore.", "Code:\n\n```python\nx = 1\n```\n\nMore."),
    ("A backtick ` alone.", "A backtick \\` alone."),
])  # fmt: skip
def test_docstring_has_backticks_as_its_only_markup(text: str, result: str) -> None:
    assert prose.paragraphs(text) == result


def test_style_is_the_projects_own_in_light_and_dark() -> None:
    found = look()
    assert found["light_css_variables"]["color-brand-primary"] == style.LIGHT["accent"]
    assert found["dark_css_variables"]["color-background-primary"] == style.DARK["ground"]
    assert len(found["dark_css_variables"]) == len(FURO)


def test_files_for_sphinx_exist() -> None:
    assert [name for name in (*BUILT_WITH, "requirements.in") if not (BUILDER / name).is_file()] == []


def test_build_requirements_are_pinned_with_hashes() -> None:
    wanted = (BUILDER / "requirements.in").read_text("utf-8")
    pinned = (BUILDER / "requirements.txt").read_text("utf-8").replace("\\\n", "")
    lines = [line for line in pinned.splitlines() if line]
    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
    names = {line.partition("==")[0] for line in lines}
    assert {line.partition(">=")[0] for line in wanted.splitlines() if not line.startswith("#")} <= names


def test_answers_page_lists_every_key_of_every_schema(pages: dict[str, str]) -> None:
    text = pages["reference/answers.md"]
    for command in COMMANDS:
        section = text.partition(f"## `hawb {command} --json`")[2].partition("\n## ")[0]
        forms = json.loads(kept(command))["$defs"].values()
        assert [key for form in forms for key in form.get("properties", ()) if f"| `{key}` |" not in section] == []

"""The stage's front end in a real browser, without Jupyter. Its animation runs on a clock that the tests advance."""

from __future__ import annotations

import pytest
from browser_pages import keep_picture
from lab_clusters import FOUR_QUEUES, SPLIT_VOTES
from samples import sample
from stage_pages import answered, begin, choose, menu, pick, show, stage_page
from stage_states import refused

from hawb.lab.controller import Controller
from hawb.lab.page import Lab
from hawb.lab.sources import TITLE

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("in_browser")]

MOST_CONTROLS = 7
"""How many controls are in sight before the first click."""


def verdict(page) -> str:
    """Return the text of the verdict."""
    return page.locator(".hs-verdict").inner_text()


def caption(page) -> str:
    """Return the caption of the current movement."""
    return page.locator(".hs-caption").text_content()


def state(page, node: str) -> str:
    """Return the label of a node as drawn."""
    return page.locator(f"button[aria-label^='node {node}']").get_attribute("aria-label")


def test_few_controls_are_visible_and_the_rest_are_in_menus():
    with stage_page() as page:
        controls = page.locator(".hs-stage :is(button, select, input):visible:not(.hs-node):not(.hs-queue)")
        assert controls.count() <= MOST_CONTROLS
        assert page.get_by_role("menuitem").count() == 0
        menu(page, "node a")
        assert page.get_by_role("menuitem", name="kill").is_visible()


def test_step_is_animated_forwards_and_backwards():
    with stage_page() as page:
        pick(page, "node a", "kill")
        page.run_for(100)
        assert caption(page) == "a was killed."
        assert state(page, "a") == "node a, running"
        page.locator(".hs-play", has_text="pause").click()
        page.run_for(5000)
        assert caption(page) == "a was killed."
        for said in ("has lost its leader", "took over ha.orders", "Messages 1 to 100 of ha.orders were lost"):
            page.get_by_role("button", name="step forward").click()
            assert said in caption(page)
        assert state(page, "a") == "node a, down, was running"
        for said in ("took over ha.orders", "has lost its leader", "a was killed."):
            page.get_by_role("button", name="step back").click()
            assert said in caption(page)
        assert state(page, "a") == "node a, running"
        assert page.lab.stage.view["bar"]["played"] == 1
        page.locator(".hs-play", has_text="play").click()
        page.run_for(6000)
        assert caption(page) == ""
        assert page.locator(".hs-play").inner_text() == "↻ again"


@pytest.mark.full
def test_reduced_motion_shows_the_result_at_once():
    with stage_page(calm=True) as page:
        pick(page, "node a", "kill")
        assert (caption(page), state(page, "a")) == ("", "node a, down, was running")
        assert "100 messages of ha.orders are lost" in verdict(page)
        assert page.locator(".hs-cell.hs-changed").count() > 0


def go_through_the_causes(page) -> None:
    """Point at links of the chain of causes, go to the moment of one and back, all by keyboard."""
    chips = page.locator(".hs-chip")
    assert chips.count() == 7
    chips.nth(2).focus()
    assert lit(page) == ["cell ha.orders b"] and "b joined ha.orders as an empty mirror" in caption(page)
    page.keyboard.press("Enter")  # before the lab was at rest: the slider has no such moment
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert lit(page) == ["node a"] and page.locator(".hs-pointed").is_visible()
    page.keyboard.press("Enter")
    page.locator(".hs-chip[aria-current]", has_text="a was killed").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "✕a was killed"
    assert lit(page) == ["node a"] and chips.count() == 7 and "no node has noticed yet" in verdict(page)
    page.get_by_role("button", name="undo").press("Enter")
    page.locator(".hs-verdict.hs-lost").wait_for()
    assert lit(page) == []


def lit(page) -> list[str]:
    """Return the places of the picture that are lit up."""
    return page.locator(".hs-lit").evaluate_all("found => found.map(one => one.dataset.place)")


def test_tour_leads_from_a_loss_to_the_change_that_prevents_it():
    with stage_page(calm=True) as page:
        guide = page.locator(".hs-guide")
        assert "1 of 4" in guide.inner_text()
        guide.get_by_role("button", name="Kill a").click()
        guide.get_by_text("2 of 4").wait_for()
        go_through_the_causes(page)
        page.locator(".hs-play").click()
        assert "3 of 4" in guide.inner_text()
        page.lab.stage.receive({"do": "ask"})
        show(page)
        page.get_by_role("button", name="try ha-sync-mode: automatic").click()
        page.locator(".hs-guide", has_text="4 of 4").wait_for()
        assert "Nothing is lost" in verdict(page)
        page.get_by_role("button", name="undo").click()
        guide.wait_for(state="detached")


AT_REST = """() => [".hs-verdict", ".hs-columns"].flatMap(
  part => document.querySelector(part).innerText.split(/\\s+/)).filter(one => /\\w/.test(one)).length"""
MOST_WORDS = 45
"""How many words there are to be read at first: the verdict, the invitation, and the way out of the tour."""


@pytest.mark.parametrize("size", [(390, 844), pytest.param((1280, 800), marks=pytest.mark.full)])
def test_lab_opens_with_one_invitation(size):
    with stage_page(size, calm=True) as page:
        assert page.evaluate(AT_REST) <= MOST_WORDS
        assert page.locator(".hs-node.hs-invited").get_attribute("aria-label") == "node a, running"
        assert page.locator(":is(.hs-legend, .hs-time, .hs-happened):visible").count() == 0
        buttons = page.locator(".hs-columns button:visible")
        assert buttons.all_inner_texts() == ["skip the tour", "Kill a"]
        keep_picture(page, f"stage-rest-{size[0]}")
        pick(page, "node b", "stop")
        page.locator(".hs-happened", has_text="stop b").wait_for()
        assert page.locator(".hs-legend").is_visible() and page.locator(".hs-time").is_visible()
        page.get_by_role("button", name="undo").click()
        page.get_by_role("button", name="skip the tour").click()
        assert page.locator(".hs-invited").count() == 0
        assert page.locator(".hs-can", has_text="Click a node").is_visible()


@pytest.mark.parametrize(("language", "name", "group", "typed"), sample([
    ("en", "scenario", "Incidents", "incidents mirror"),
    ("zh", "场景", "真实事故", "真实事故 mirror"),
    ("pt", "cenário", "Sincronização", "SINCRONIZACAO mirror"),
]))  # fmt: skip
def test_scenario_is_found_by_words_and_opened_by_keyboard(language, name, group, typed):
    with stage_page(calm=True) as page:
        begin(page, Lab(Controller(), language))
        field = page.get_by_role("combobox", name=name)
        assert field.input_value() == TITLE
        field.focus()
        page.keyboard.press("ArrowDown")
        shown = page.locator(".hs-choices [role=option]:visible")
        assert shown.count() == len([one for one in page.lab.stage.choices if not one["heading"]])
        assert page.get_by_role("group", name=group).is_visible()
        page.keyboard.press("Escape")
        assert (field.input_value(), shown.count()) == (TITLE, 0)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Control+A")
        page.keyboard.type(typed)
        assert 1 < shown.count() < 60
        assert page.locator(".hs-choices > [role=group]:visible").count() == 1
        page.keyboard.press("ArrowDown")
        second = page.locator("[aria-selected=true]").inner_text()
        assert field.get_attribute("aria-activedescendant") == shown.nth(1).get_attribute("id")
        page.keyboard.press("Enter")
        answered(page)
        assert (field.input_value(), shown.count()) == (second, 0)
        assert page.lab.controller.outcome["scenario"] == second
        field.fill("no such words anywhere")
        assert (shown.count(), page.locator(".hs-found").inner_text() != "") == (0, True)


def test_refused_entries_are_explained_and_disabled():
    with stage_page(calm=True) as page:
        refused(page)
        forget = page.get_by_role("menuitem", name="forget")
        assert forget.get_attribute("aria-disabled") == "true"
        assert "RabbitMQ refuses it now" in forget.inner_text() and "coordinator_unavailable" in forget.inner_text()
        forget.click(force=True)
        assert page.locator(".hs-menu").is_visible()
        assert page.lab.stage.view["bar"]["played"] == 2
        choose(page, "start")
        assert page.lab.stage.view["bar"]["played"] == 3


def test_tour_continues_after_any_action_in_any_language():
    with stage_page(calm=True) as page:
        guide = page.locator(".hs-guide")
        pick(page, "node b", "kill")
        page.get_by_role("button", name="undo").click()
        guide.get_by_text("What if a dies?").wait_for()
        menu(page, "node a")
        choose(page, "kill")
        guide.get_by_text("100 confirmed messages are lost").wait_for()
        page.get_by_role("button", name="more…").click()
        choose(page, "Português")
        guide.get_by_text("Isso custou 100 mensagens confirmadas").wait_for()
        assert "2 de 4" in guide.inner_text()
        page.get_by_role("button", name="desfazer").click()
        guide.get_by_role("button", name="Encerrar a à força").wait_for()


@pytest.mark.full
def test_tour_claims_no_loss_if_a_policy_prevented_it():
    with stage_page(calm=True) as page:
        policy = {"name": "ha-all", "pattern": "^ha", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
        page.lab.controller.act("set_policy", policy)
        page.lab.redraw()
        show(page)
        pick(page, "node a", "kill")
        page.locator(".hs-guide").get_by_text("a is down, and no message is lost").wait_for()
        page.get_by_role("button", name="undo").click()
        page.locator(".hs-guide").get_by_text("What if a dies?").wait_for()


@pytest.mark.parametrize(
    ("size", "dark"),
    sample([
        ((800, 900), False), ((1280, 700), True), ((800, 900), True), ((1280, 700), False), ((2560, 1300), False),
        ((2560, 1300), True),
    ]),
)  # fmt: skip
def test_nothing_is_clipped_at_any_width(size, dark):
    with stage_page(size, dark=dark, calm=True) as page:
        pick(page, "node a", "kill")
        page.lab.stage.receive({"do": "ask"})
        show(page)
        keep_picture(page, f"stage-{size[0]}-{'dark' if dark else 'light'}")
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0
        cut = page.evaluate(
            "() => [...document.querySelectorAll('.hs-node, .hs-verdict, .hs-bar, .hs-time')]"
            ".filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.className)"
        )
        assert cut == []


CUT = """() => [...document.querySelectorAll(
  ".hs-name, .hs-node b, .hs-node, .hs-queue, .hs-badges, .hs-told, .hs-told small, .hs-bar, .hs-time, .hs-verdict," +
  ".hs-client, .hs-step, .hs-legend li, .hs-happened li span, .hs-why p, .hs-now button"
)].filter(one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline")
  .map(one => one.className + ": " + one.textContent)"""
INNER = """() => [...document.querySelectorAll(".hs-picture, .hs-happened .hs-body")].filter(
  box => box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth).length"""


@pytest.mark.parametrize("size", [(1160, 675), pytest.param((1280, 800), marks=pytest.mark.full)])
def test_cut_link_is_visible_before_and_after_detection(size):
    with stage_page(size, calm=True, start=FOUR_QUEUES) as page:
        pick(page, "node c", "start")
        page.lab.stage.receive({"do": "part", "links": [["a", "b"]]})
        show(page)
        page.get_by_role("button", name="wait until the nodes notice").click()
        page.locator(".hs-gap", has_text="partition").wait_for()
        keep_picture(page, f"stage-partition-{size[0]}")
        assert page.locator(".hs-name").count() == len(page.lab.controller.outcome["queues"])
        assert page.locator(".hs-state", has_text="b and c: down").count() == 1
        assert (page.evaluate(CUT), page.evaluate(INNER)) == ([], 0)
        result, more = page.locator(".hs-happened li"), page.locator(".hs-happened").get_by_role("button")
        count = page.lab.stage.view["leads"]["happened"]
        assert int(more.inner_text().split()[1]) == len(count["told"]) - result.count() + count["more"]
        assert result.filter(has_text="took over ha.orders").count() == 1


PHONE = (390, 844)


def many_names(page) -> None:
    """Declare a queue with a long name, and lose what it held."""
    for verb, argument in (
        ("declare", {"queue": "ha.orders-of-the-european-warehouse-that-nobody-has-renamed", "node": "a"}),
        ("publish", {"queue": "ha.orders-of-the-european-warehouse-that-nobody-has-renamed", "count": 12345}),
        ("kill", "a"),
    ):
        page.lab.controller.act(verb, argument)
    page.lab.redraw()
    show(page)


@pytest.mark.parametrize("done", sample([
    lambda page: None,
    lambda page: pick(page, "node a", "kill"),
    many_names,
    lambda page: page.lab.stage.receive({"do": "part", "links": [["a", "b"]]}) or show(page),
], 2), ids=["opened", "loss", "long names", "cut"])  # fmt: skip
def test_text_fits_its_box_on_a_phone(done):
    with stage_page(PHONE, calm=True) as page:
        done(page)
        page_and_stage = page.evaluate(
            "() => [document.documentElement, document.querySelector('.hs-stage')]"
            ".map(one => one.scrollWidth - one.clientWidth)"
        )
        assert (page_and_stage, page.evaluate(CUT), page.evaluate(INNER)) == ([0, 0], [], 0)
        menu(page, "node b")
        box = page.locator(".hs-menu").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]
        keep_picture(page, f"stage-phone-{page.lab.stage.view['bar']['played']}")


def test_log_is_in_step_with_the_animation():
    with stage_page() as page:
        page.lab.controller.choose("qq.orders")
        page.lab.redraw()
        show(page)
        entries = page.locator(".hs-log tbody tr").first.locator(".hs-entry:not(.hs-empty)")
        last = page.locator(".hs-log .hs-index").last
        before = last.inner_text()
        pick(page, "queue qq.orders", "publish 10")
        page.locator(".hs-play", has_text="pause").click()
        assert "were published" in caption(page)
        assert last.inner_text() == before
        page.get_by_role("button", name="step forward").click()
        assert int(last.inner_text()) > int(before)
        page.get_by_role("button", name="step back").click()
        assert last.inner_text() == before
        assert entries.count() > 0


@pytest.mark.parametrize(
    "size", [(1280, 720), pytest.param((390, 844), marks=pytest.mark.full)], ids=["broad", "phone"]
)
def test_election_is_stopped_half_way_and_fails_by_keyboard(size):
    with stage_page(size, start=SPLIT_VOTES, dark=size[0] < 400) as page:
        said = []
        for _ in range(30):
            page.get_by_role("button", name="step back").press("Enter")
            page.run_for(50)
            said.append(caption(page))
            if said[-1].startswith("b stands for election in term 2"):
                break
        assert any(one.startswith("The votes of term 2 are split: b has 1 (b), c has 1 (c)") for one in said)
        page.get_by_role("button", name="act here").press("Enter")
        answered(page)
        page.run_for(50)
        assert caption(page) == (
            "Under way from b to c: request for a vote, term 2. Under way from c to b: request for a vote, term 2."
        )
        assert page.get_by_role("button", name="act here").count() == 0
        drawn = page.evaluate("""() => {
            const { width, height } = document.querySelector(".hs-flights");
            const { data } = document.querySelector(".hs-flights").getContext("2d").getImageData(0, 0, width, height);
            return data.some((value) => value > 0);
        }""")
        assert drawn  # also after the caption has made the picture smaller
        keep_picture(page, f"stage-votes-under-way-{size[0]}")
        pick(page, "node c", "cut off from all other nodes")
        page.locator(".hs-play", has_text="pause").click()
        said = [caption(page)]
        for _ in range(6):
            page.get_by_role("button", name="step forward").press("Enter")
            said.append(caption(page))
        assert "The request of b does not reach c. The request of c does not reach b." in said
        keep_picture(page, f"stage-votes-lost-{size[0]}")


def test_link_is_cut_by_touch():
    with stage_page(calm=True) as page:
        fits = page.locator(".hs-picture.hs-fits")
        assert fits.evaluate("box => getComputedStyle(box).touchAction") == "none"
        first, second = (page.locator(f"button[aria-label^='node {name}']").bounding_box() for name in "ab")
        x, top = (first["x"] + first["width"] + second["x"]) / 2, first["y"]
        finger = page.context.new_cdp_session(page)

        def touch(kind: str, *points: float) -> None:
            places = [{"x": x, "y": y} for y in points]
            finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": places})

        touch("Start", top - 15)
        for y in (20, 40, 60):
            touch("Move", top + y)
        touch("End")
        page.locator(".hs-step", has_text="partition").wait_for()
        assert page.lab.stage.view["scene"]["cut"] == [["a", "b"], ["a", "c"]]


def test_names_from_outside_are_escaped():
    with stage_page(calm=True) as page:
        name = "<img src=x onerror=\"document.title='gone'\">"
        page.lab.controller.act("declare", {"queue": name, "node": "a"})
        page.lab.redraw()
        show(page)
        assert page.locator(".hs-name", has_text="<img").count() == 1
        assert page.locator("img").count() == 0
        assert page.title() == "stage"


@pytest.mark.full
def test_thousands_of_messages_in_flight_are_drawn():
    with stage_page() as page:
        page.lab.controller.act("publish", {"queue": "ha.orders", "count": 5000})
        page.lab.redraw()
        show(page)
        page.run_for(300)
        drawn = page.evaluate(
            "() => { const canvas = document.querySelector('canvas');"
            " return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(one => one); }"
        )
        assert drawn
        assert "Messages 111 to 5,110 were published" in caption(page)


PRESS = """\
name => {
  const button = document.querySelector(`button[aria-label="${name}"]`);
  for (let press = 0; press < 20; press += 1) button.click();
  return button.closest("[aria-busy=true]") !== null;
}
"""


def test_click_waits_for_the_pending_reply_of_python():
    with stage_page(start=FOUR_QUEUES) as page:
        for name, played, said in (
            ("step back", 14, "messages 101 to 110 of qq.orders"),
            ("step back", 13, "messages 101 to 110 of ha.orders"),
            ("step forward", 14, "messages 101 to 110 of qq.orders"),
        ):
            assert page.evaluate(PRESS, name)
            answered(page)
            assert page.lab.stage.view["bar"]["played"] == played
            assert said in caption(page)


def test_answer_is_above_what_a_person_can_do_on_a_phone():
    with stage_page(PHONE, calm=True) as page:
        pick(page, "node a", "kill")
        answer, offered = (page.locator(f".hs-{name}").bounding_box()["y"] for name in ("happened", "can"))
        assert answer < offered

"""The stage in a browser: choosing another language."""

from __future__ import annotations

import pytest
from browser_pages import chromium, keep_picture
from stage_pages import answered, begin, choose, page_for_stages, pick

from hawb.lab.controller import Controller
from hawb.lab.page import Lab

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("in_browser"), pytest.mark.full]
HEADS = ".hs-columns h2"


def test_page_is_redrawn_in_the_chosen_language() -> None:
    with chromium() as browser:
        page = page_for_stages(browser, (1280, 700), calm=True)
        begin(page, Lab(Controller(), "zh"))
        assert page.locator(HEADS).all_text_contents() == ["您可以做什么", "刚刚发生了什么", "为什么", "现在怎么办"]
        assert page.locator(".hs-stage").get_attribute("lang") == "zh-Hans"
        pick(page, "节点 a", "强制终止")
        assert page.locator(".hs-verdict").text_content() == "▼ha.orders 的 100 条消息已丢失，全部已确认。"
        page.get_by_role("button", name="更多…").click()
        assert page.get_by_role("menuitem").first.text_content() == "简体中文当前"
        choose(page, "Português")
        assert page.locator(HEADS).all_text_contents() == [
            "O que você pode fazer", "O que acaba de acontecer", "Por quê", "E agora",
        ]  # fmt: skip
        assert page.locator(".hs-verdict").text_content() == (
            "▼100 mensagens de ha.orders se perderam, todas já confirmadas."
        )
        keep_picture(page, "stage-portuguese")
        page.get_by_role("button", name="⟲ desfazer").click()
        answered(page)
        assert page.locator(".hs-verdict").text_content() == "✓Nada se perdeu, e todas as filas podem ser usadas."
        assert page.locator(".hs-stage").count() == 1

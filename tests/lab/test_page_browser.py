"""The lab's notebook in a real JupyterLab and browser."""

from __future__ import annotations

import pytest
from browser_pages import jupyterlab, keep_picture, open_notebook, page_of, run
from lab_controls import lay_out
from lab_journeys import (
    draw_a_line_and_watch_again,
    keep_them_and_branch,
    look_everywhere,
    lose_and_mend_by_keyboard,
    part_publish_and_set_a_policy_by_keyboard,
    publish_and_ask_why,
    put_beside_and_take_away,
    read_a_loss_and_part_the_nodes,
    save,
)


@pytest.mark.browser
def test_the_lab_is_used_in_jupyterlab(tmp_path, in_browser):
    folder = lay_out(tmp_path)
    with jupyterlab(folder) as address, page_of() as page:
        open_notebook(page, address.format("00-lab.ipynb"))
        run(page, "Run All Cells")
        look_everywhere(page, "lab")
        draw_a_line_and_watch_again(page)
        lose_and_mend_by_keyboard(page)
        part_publish_and_set_a_policy_by_keyboard(page)
        publish_and_ask_why(page)
        read_a_loss_and_part_the_nodes(page)
        keep_picture(page.locator(".hawb-lab"), "lab-healed")
        keep_them_and_branch(page, "lab", lambda lab: save(lab, folder))
        put_beside_and_take_away(page, folder, "lab")

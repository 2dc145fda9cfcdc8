from __future__ import annotations

from io import BytesIO
from itertools import combinations, product

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from hawb.views.style import LOOKS
from hawb.views.sweep_figures import sweep_figure, sweep_in_words

SETTINGS = ["ha_sync_mode", "ha_promote_on_shutdown", "ha_promote_on_failure"]
VALUES = (["manual", "automatic"], ["when-synced", "always"], ["when-synced", "always"])


def made_up(shares: list[float], lost: list[float], down_s: list[float], blocked_s: list[float]) -> pd.DataFrame:
    """A summary of all combinations, its first rows with these figures and the others without any loss."""

    def filled(values: list[float]) -> list[float]:
        return values + [0.0] * (16 - len(values))

    table = pd.DataFrame(list(product(["stop", "kill"], *VALUES)), columns=["shutdown", *SETTINGS])
    return table.assign(
        trials=250,
        loss_share=filled(shares),
        loss_share_low=[max(0, share - 0.05) for share in filled(shares)],
        loss_share_high=[min(1, share + 0.07) for share in filled(shares)],
        mean_lost=filled(lost),
        mean_down_s=filled(down_s),
        mean_blocked_s=filled(blocked_s),
    )


@pytest.fixture
def table() -> pd.DataFrame:
    return made_up([0.0, 1.0, 0.25], [0.0, 3_210.0, 45.0], [125.0, 0.001, 27.5], [0.0, 0.0, 22.8])


@pytest.fixture
def figure(table: pd.DataFrame) -> Figure:
    return sweep_figure(table)


def test_each_combination_stands_once_as_text_below_its_kind_of_shutdown(figure: Figure, table: pd.DataFrame) -> None:
    down = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    assert down["Controlled stop of the master's node"] < down["kill -9 of the master's node"]
    drawn = sorted((y, x, text.get_text()) for text in figure.axes[0].texts for x, y in [text.get_position()])
    values = [word for _, _, word in drawn if word in ("manual", "automatic", "when-synced", "always")]
    assert values == [word for row in table[SETTINGS].itertuples(index=False) for word in row]


def test_shares_are_triangles_with_their_intervals_and_rings_where_nothing_was_lost(figure: Figure) -> None:
    axes = figure.axes[1]
    marks = [(float(line.get_xdata()[0]), line.get_marker()) for line in axes.lines]
    assert marks == [(0, "o"), (1, "v"), (0.25, "v"), *[(0, "o")] * 13]
    ends = [end for lines in axes.collections[:3] for end in lines.get_segments()[0][:, 0]]
    assert ends == pytest.approx([0, 0.07, 0.95, 1, 0.2, 0.32])
    assert [text.get_text() for text in axes.texts[:3]] == ["0%", "100%", "25%"]


def test_bars_are_as_long_as_their_numbers_say(figure: Figure) -> None:
    lost, seconds = figure.axes[2:]
    assert [bar.get_width() for bar in lost.patches[:3]] == [0, 3_210, 45]
    assert [text.get_text() for text in lost.texts[:3]] == ["0", "3,210", "45"]
    down, blocked = seconds.containers
    assert [bar.get_width() for bar in down[:3]] == [125, 0.001, 27.5]
    assert [bar.get_x() for bar in blocked[:3]] == [125, 0.001, 27.5]
    assert [bar.get_width() for bar in blocked[:3]] == pytest.approx([0, 0, 22.8])
    assert [text.get_text() for text in seconds.texts[:3]] == ["125.0 + 0.0", "0.0 + 0.0", "27.5 + 22.8"]


def test_colours_are_those_of_everywhere_and_never_the_only_difference(figure: Figure) -> None:
    lost, seconds = figure.axes[2:]
    down, blocked = (bars[2] for bars in seconds.containers)
    assert to_hex(lost.patches[1].get_facecolor()).upper() == LOOKS["lost"].colour
    assert to_hex(down.get_facecolor()).upper() == LOOKS["down"].colour
    assert to_hex(blocked.get_edgecolor()).upper() == LOOKS["unsynchronised"].colour
    assert not down.get_hatch() and blocked.get_hatch()


def test_all_panels_share_the_rows_from_top_to_bottom(figure: Figure) -> None:
    bars = [patch.get_y() + patch.get_height() / 2 for patch in figure.axes[2].patches]
    assert bars == pytest.approx([float(line.get_ydata()[0]) for line in figure.axes[1].lines])
    assert bars == sorted(bars)
    low, high = figure.axes[2].get_ylim()
    assert low > high


@pytest.mark.parametrize("lost", [3.0, 987_654_321.0])
def test_no_text_covers_another_or_leaves_its_panel(lost: float) -> None:
    figure = sweep_figure(made_up([1.0] * 16, [lost] * 16, [lost / 1000] * 16, [lost / 1000] * 16))
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts]
    texts += [
        label
        for axes in figure.axes[1:]
        for place, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        if place <= axes.get_xlim()[1]
    ]
    boxes = [text.get_window_extent() for text in texts]
    assert not [1 for one, other in combinations(boxes, 2) if one.overlaps(other)]
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


def test_a_sweep_without_any_loss_or_outage_can_be_drawn() -> None:
    figure = sweep_figure(made_up([], [], [], []))
    figure.savefig(BytesIO())
    assert {text.get_text() for text in figure.axes[2].texts} == {"0"}


def test_pyplot_keeps_no_figure_and_no_setting(table: pd.DataFrame) -> None:
    before = dict(plt.rcParams)
    sweep_figure(table)
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == before


def test_in_words_every_combination_has_a_sentence_with_its_figures(table: pd.DataFrame) -> None:
    lines = sweep_in_words(table).splitlines()
    assert len(lines) == 2 + 16
    assert lines[0] == "Controlled stop of the master's node:"
    assert lines[9] == "kill -9 of the master's node:"
    assert lines[3] == (
        "  ha-sync-mode manual, ha-promote-on-shutdown always, ha-promote-on-failure when-synced: 25.0 % of 250 trials"
        " lose messages (20.0 to 32.0 %), 45 on average; 27.5 s without a master, 22.8 s blocked by synchronisation."
    )

from __future__ import annotations

import pytest

from hawb.study.prediction import NotMeasuredError
from hawb.study.sync_duration import duration
from hawb.views.study.sync_duration import duration_figure, duration_table, in_a_cell, longest_batches, sentence


def test_a_table_by_depth_and_batch_size():
    table = duration_table([10_000, 20_000_000], [1, 4096])
    assert list(table.columns) == ["batches of 1", "batches of 4,096"]
    assert table.index[1] == "20,000,000"
    assert table.iat[0, 1] == in_a_cell(duration(10_000, batch_size=4096))
    assert table.iat[1, 0].split()[1] == "min"
    with pytest.raises(NotMeasuredError):
        duration_table([10**9], [1])


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.500 s"), (59, "59.0 s"), (90, "1.50 min"), (9000, "2.50 h")])
def test_duration_uses_a_readable_unit(value: float, text: str):
    from hawb.study.prediction import Prediction

    assert in_a_cell(Prediction.of(value, "s", [0.0])).startswith(text)


@pytest.mark.parametrize("network", [1, 12.5, 100])
@pytest.mark.parametrize("size", [1000, 300_000, 10_000_000])
def test_longest_batch_is_where_the_model_warns(size: int, network: float):
    longest = int(longest_batches([size], [network], 15).iat[0, 0].replace(",", ""))

    def warns(batch_size: int) -> bool:
        asked = duration(2_000_000, size, batch_size, network, net_ticktime_s=15)
        return any("net_ticktime" in warning for warning in asked.warnings)

    assert warns(longest + 1) and not (longest > 1 and warns(longest - 1))


def test_figure_has_a_line_per_batch_size_and_published_points():
    (axes,) = duration_figure([1000, 1_000_000], [1, 4096]).axes
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert [line.get_label() for line in lines] == ["batches of 1", "batches of 4,096"]
    assert len({line.get_linestyle() for line in lines}) == 2
    assert [tuple(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 1] == [(60,), (6,), (5,)]


def test_equal_batch_sizes_share_a_labelled_line():
    (axes,) = duration_figure([1000, 1_000_000], [1, 4096, 4097]).axes
    assert [text.get_text() for text in axes.texts][:2] == ["batches of 1", "batches of 4,096 or 4,097"]
    assert len(axes.collections) == 2  # the bands


def test_title_states_how_long_the_deepest_queue_is_blocked():
    found = {size: duration(10**6, batch_size=size) for size in (4096, 1)}
    shown = sentence(10**6, found)
    assert shown == (
        f"1,000,000 messages block a queue for {in_a_cell(found[4096])} in batches of 4,096, "
        f"and for {in_a_cell(found[1])} in batches of 1."
    )
    same = sentence(1, {1: found[1], 2: found[1]})
    assert same == f"1 message blocks a queue for {in_a_cell(found[1])}, in batches of 1 or 2."

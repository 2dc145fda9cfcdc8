"""Tables of the feature matrix: text of cells, and completeness."""

from __future__ import annotations

import pytest

from hawb.rules.feature_matrix import Cell, Refusal
from hawb.rules.profiles import PROFILES
from hawb.views.rules.features import brief, matrix, side_by_side, through_releases, words

ONE = {"versions": ["3.10"], "source": "here"}
REFUSED = Refusal(406, "PRECONDITION_FAILED - no")


@pytest.mark.parametrize(
    ("cell", "short", "full"),
    [
        (Cell(**ONE, answer="yes"), "yes", "yes"),
        (Cell(**ONE, answer="yes", how="by hand"), "yes", "yes: by hand"),
        (Cell(**ONE, answer="no", refused=REFUSED, how="so"), "no, refused with 406", "no, refused with 406: so"),
        (Cell(**ONE, answer="no", ignored=True), "no, ignored", "no, ignored"),
    ],
)  # fmt: skip
def test_a_cell_in_words(cell: Cell, short: str, full: str):
    assert (brief(cell), words(cell)) == (short, full)


def test_comparison_lists_every_feature():
    table = side_by_side("3.8")
    assert table.caption == "RabbitMQ 3.8.9"
    assert [row[0] for row in table.rows] == list(matrix())
    ttl = next(row for row in table.rows if row[0] == "message-ttl")
    assert ttl[2:] == ("yes", "no, refused with 406: a message's own expiration is ignored")


def test_every_release_and_the_guide_have_a_column():
    table = through_releases("quorum")
    assert table.columns == ("feature", "guide, 2018", *PROFILES)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["message-ttl"] == ("no", "no, refused with 406", "yes", "yes", "yes", "yes")
    assert rows["poison-messages"][0] == ""
    classic = {row[0]: row[1:] for row in through_releases("classic").rows}
    assert classic["membership"] == ("automatic", "yes", "yes", "yes", "no", "no")


def test_error_outside_a_checkout_names_the_missing_file(outside_checkouts):
    with pytest.raises(FileNotFoundError, match="matrix of features"):
        matrix()

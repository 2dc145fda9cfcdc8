"""Games: the notebooks' moves win at par, and traps are explained."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from wrong_moves import WRONG_MOVES

from hawb.lessons import answers
from hawb.lessons.exercises import AS_SHOWN, HELD_BACK
from hawb.lessons.games import FREE, played, told_of
from hawb.lessons.notebook import EXERCISES, GAMES, game, play

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(file for number in ("1[0-9]", "20", "2[78]") for file in NOTEBOOKS.glob(f"{number}-*.ipynb"))
SOLUTION = re.compile(r'# solution\n(.*)# end of solution\nplay\("([^"]*)", moves\)', re.DOTALL)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a separate file of answers for each test."""
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "mine.json"))
    return tmp_path / "mine.json"


def solutions() -> dict[str, list]:
    """Return the moves of the notebooks by game."""
    found = {}
    for file in LESSONS:
        for cell in nbformat.read(file, as_version=4).cells:
            if match := SOLUTION.search(cell.source):
                code, key = match.groups()
                found[key] = ast.literal_eval(ast.parse(code).body[-1].value)
    return found


def test_every_lesson_ends_with_a_game_that_has_its_traps_and_hints():
    assert list(solutions()) == list(GAMES) == list(WRONG_MOVES)
    assert [key.partition("-")[0] for key in GAMES] == [file.name.partition("-")[0] for file in LESSONS]
    assert all(len(WRONG_MOVES[key]) >= 2 and len(each.hints) >= 2 for key, each in GAMES.items())
    assert not {*GAMES} & {*EXERCISES}


@pytest.mark.parametrize("key", GAMES)
def test_the_notebooks_moves_win_at_par(key: str):
    result = played(GAMES[key], solutions()[key])
    assert result.verdict.right, result.verdict
    assert result.verdict.says.startswith(f"Won in {GAMES[key].par} move")
    assert "(par)" in result.verdict.says
    assert len(told_of(GAMES[key], result)) == (key not in ("27-nobody-decides",))


@pytest.mark.parametrize("key", GAMES)
def test_no_moves_or_too_few_do_not_win(key: str):
    assert not played(GAMES[key], []).verdict.right
    moves = solutions()[key]
    for left_out in range(len(moves)):
        assert not played(GAMES[key], moves[:left_out] + moves[left_out + 1 :]).verdict.right or FREE in moves[left_out]


@pytest.mark.parametrize(("key", "moves", "says"), [(key, *one) for key, many in WRONG_MOVES.items() for one in many])
def test_trap_is_explained(key: str, moves: list, says: str):
    result = played(GAMES[key], moves)
    assert not result.verdict.right
    assert re.search(says, result.verdict.says, re.DOTALL), result.verdict.says
    assert told_of(GAMES[key], result) == []


@pytest.mark.parametrize("key", GAMES)
def test_invalid_move_is_explained(key: str):
    for given in (..., "", 7, "pattern: ["):
        result = played(GAMES[key], given)
        assert not result.verdict.right and result.after is None


def test_more_moves_than_par_win_as_well_and_waiting_is_free():
    filled = [WRONG_MOVES["10-two-at-once"][0][0][0], {"sync_queue": "orders"}]
    assert "Won in 2 moves (par is 1)" in played(GAMES["10-two-at-once"], filled).verdict.says
    patient = [{"wait": 1}, *solutions()["18-find-the-cut"]]
    assert "Won in 2 moves (par)" in played(GAMES["18-find-the-cut"], patient).verdict.says


def test_game_shows_its_start_and_result(kept: Path):
    begun = game("11-three-moves")
    assert repr(begun).splitlines()[0] == "Game 11-three-moves: Find the fault"
    assert "3 moves at most, par 3. Moves: stop, start, kill." in repr(begun)
    assert "hint 1" in begun.value and "as it begins" in begun._repr_mimebundle_()["image/svg+xml"]
    won = play("11-three-moves", solutions()["11-three-moves"])
    assert repr(won).splitlines()[0].startswith("✓ Won in 3 moves (par).")
    assert "Lost, as requested: 100 messages of orders" in repr(won)
    assert all(len(line) <= 116 for line in repr(won).splitlines()[:4])
    assert "after" in won._repr_mimebundle_()["image/svg+xml"]
    refused = play("11-three-moves", "<b>")
    assert "<b>" not in refused.value and "image/svg+xml" not in refused._repr_mimebundle_()
    assert answers.read().answers["11-three-moves"].attempts == 2
    with pytest.raises(ValueError, match="there is no game 'none'; there are 10-two-at-once"):
        game("none")


def test_no_game_starts_with_a_loss():
    for each in GAMES.values():
        for variation in (AS_SHOWN, *HELD_BACK):
            assert not any(account["lost_confirmed"] for account in each.begin(variation).ledger.values())

"""What a study says of its designs, in a sentence."""

from __future__ import annotations

from answered_reports import estimate

from hawb.views.study.study_verdict import question, todo, verdict

DOWN = "publish_down_s"


def base(environment: str = "rack") -> dict:
    return estimate("base", "lost_confirmed", 0.0, 0.0, environment=environment)


def test_a_design_that_is_better_and_nowhere_worse_is_a_yes():
    rows = [base(), estimate("new", "lost_confirmed", -3.0, -1.0)]
    assert verdict(rows, "base").sentence == "Yes: new loses less than base, and is nowhere worse."
    assert [one.what for one in todo(rows, verdict(rows, "base"), "base", "x")] == [
        "Choose new in place of base, if what else it costs is right."
    ]
    rows = [base(), estimate("new", DOWN, -3.0, -1.0), estimate("newer", DOWN, -3.0, -1.0)]
    assert verdict(rows, "base").sentence == (
        "Yes: new is out of use for less (so does newer) than base, and none of them is worse anywhere."
    )


def test_better_here_and_worse_there_is_a_yes_with_a_but():
    rows = [base(), base("disk"), estimate("new", "lost_confirmed", -3.0, -1.0),
            estimate("new", "lost_confirmed", 1.0, 3.0, environment="disk")]  # fmt: skip
    assert verdict(rows, "base").sentence == (
        "Yes, but only in part: new loses less in 1 of 2 environments than base, and is worse in disk."
    )


def test_what_is_not_told_apart_or_worse_is_a_no():
    alike = [base(), estimate("new", "lost_confirmed", -1.0, 1.0)]
    assert verdict(alike, "base").sentence == "No: no difference from base is told by these trials."
    assert todo(alike, verdict(alike, "base"), "base", "hawb study x")[0].commands == ("hawb study x",)
    worse = [base(), estimate("new", "lost_confirmed", 1.0, 2.0)]
    assert verdict(worse, "base").sentence == "No: new loses more than base, and no design is better."


def test_of_one_design_it_says_whether_anything_is_lost():
    one = verdict([base()], "base")
    assert one.sentence == "No: confirmed messages are lost in 20.0 % of the trials of base in rack."
    none = base() | {"share": 0.0, "mean": 0.0, "share_high": 0.0038}
    assert verdict([none], None).sentence == (
        "Yes: no confirmed message was lost in 1,000 trials, which is not never: at most 0.38 % of them lose some."
    )
    assert verdict([], None).answer == "but"
    assert question(None, 1) == question("base", 1) == "Are confirmed messages safe?"
    assert question("base", 2) == "Is any design better than base?"


def test_too_few_trials_ask_for_more():
    rows = [base() | {"mean_low": None, "mean_high": None}]
    assert todo(rows, verdict(rows, "base"), "base", "x")[0].what == (
        "Play more trials of base: there are too few for intervals."
    )

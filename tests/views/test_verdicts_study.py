"""The verdict of a study on its designs."""

from __future__ import annotations

from answered_reports import estimate

from hawb.views.verdicts.study import question, todo, verdict

DOWN = "publish_down_s"


def base(environment: str = "rack") -> dict:
    return estimate("base", "lost_confirmed", 0.0, 0.0, environment=environment)


def test_a_design_that_is_better_and_nowhere_worse_is_a_yes():
    rows = [base(), estimate("new", "lost_confirmed", -3.0, -1.0)]
    assert verdict(rows, "base").sentence == "Yes: new loses less than base, and is nowhere worse."
    assert [one.what for one in todo(rows, verdict(rows, "base"), "base", "x")] == [
        "Choose new instead of base, if its other costs are acceptable."
    ]
    rows = [base(), estimate("new", DOWN, -3.0, -1.0), estimate("newer", DOWN, -3.0, -1.0)]
    assert verdict(rows, "base").sentence == (
        "Yes: new is out of use for less (so does newer) than base, and none of them is worse anywhere."
    )


def test_one_design_is_recommended_the_one_that_loses_least():
    rows = [base(), estimate("new", "lost_confirmed", -3.0, -1.0),
            estimate("newer", "lost_confirmed", -3.0, -1.0) | {"mean": 1.0}]  # fmt: skip
    assert [one.what for one in todo(rows, verdict(rows, "base"), "base", "x")] == [
        "Choose newer instead of base, if its other costs are acceptable."
    ]


def test_a_design_that_lost_where_the_baseline_lost_none_is_not_recommended_however_few_trials_did():
    none, few = {"mean": 0.0, "share": 0.0}, {"share": 0.01}
    rows = [base() | none, base("cuts") | none, estimate("heals", DOWN, -3.0, -1.0),
            estimate("heals", "lost_confirmed", -0.1, 3.0, environment="cuts") | few]  # fmt: skip
    answer = verdict(rows, "base")
    assert answer.sentence == (
        "Yes, but only in part: heals is out of use for less in 1 of 2 environments than base, and lost confirmed"
        " messages in cuts, where base lost none."
    )
    assert [one.what for one in todo(rows, answer, "base", "x")] == [
        "Decide what counts more: heals is out of use for less than base, and lost confirmed messages in cuts, where"
        " base lost none."
    ]
    rows += [base("disk"), estimate("safe", DOWN, 1.0, 3.0, environment="cuts"),
             estimate("safe", DOWN, -3.0, -1.0, environment="disk")]  # fmt: skip
    answer = verdict(rows, "base")
    assert answer.sentence == (
        "Yes, but only in part: safe is out of use for less in 1 of 3 environments (so does heals) than base, and is"
        " worse in cuts."
    )
    assert [one.what for one in todo(rows, answer, "base", "x")] == [
        "It depends on the environment: choose base in rack and cuts; safe in disk."
    ]
    rows = [*rows[:4], estimate("safe", DOWN, -3.0, -1.0)]
    assert verdict(rows, "base").sentence == (
        "Yes: safe is out of use for less in 1 of 2 environments than base, and is nowhere worse."
    )


def test_too_few_events_show_no_difference():
    rare = {"share": 0.03}
    rows = [base() | rare, estimate("new", "lost_confirmed", -3.0, -1.0) | rare]
    answer = verdict(rows, "base")
    assert answer.sentence == (
        "Cannot tell: too few trials had such an event: 60 of two designs; a difference from base needs 64."
    )
    assert todo(rows, answer, "base", "hawb study x")[0].commands == ("hawb study x",)
    rows[0] |= {"share": 0.2}
    assert verdict(rows, "base").answer == "yes"


def test_more_trials_are_not_advised_if_they_cannot_decide():
    narrow = [base(), estimate("new", "lost_confirmed", -0.1, 0.1)]
    assert todo(narrow, verdict(narrow, "base"), "base", "x") == ()


def test_better_here_and_worse_there_is_a_yes_with_a_but():
    rows = [base(), base("disk"), estimate("new", "lost_confirmed", -3.0, -1.0),
            estimate("new", "lost_confirmed", 1.0, 3.0, environment="disk")]  # fmt: skip
    answer = verdict(rows, "base")
    assert answer.sentence == (
        "Yes, but only in part: new loses less in 1 of 2 environments than base, and is worse in disk."
    )
    assert [one.what for one in todo(rows, answer, "base", "x")] == [
        "It depends on the environment: choose new in rack and base in disk."
    ]


def test_indistinguishable_or_worse_design_is_a_no():
    alike = [base(), estimate("new", "lost_confirmed", -1.0, 1.0)]
    assert verdict(alike, "base").sentence == "No: these trials show no difference from base."
    assert todo(alike, verdict(alike, "base"), "base", "hawb study x")[0].commands == ("hawb study x",)
    worse = [base(), estimate("new", "lost_confirmed", 1.0, 2.0)]
    assert verdict(worse, "base").sentence == "No: new loses more than base, and no design is better."


def test_verdict_on_a_single_design_states_losses():
    one = verdict([base()], "base")
    assert one.sentence == "No: confirmed messages are lost in 20.0 % of the trials of base in rack."
    none = base() | {"share": 0.0, "mean": 0.0}
    answer = verdict([none], None)
    assert answer.sentence == (
        "Cannot tell: none of 1,000 trials lost a confirmed message, so with 95 % certainty at most 0.3 % of the"
        " trials of an environment do (3 divided by their number, the rule of three)."
    )
    assert todo([none], answer, None, "hawb study x")[0].commands == ("hawb study x",)
    assert verdict([], None).answer == "unknown"
    assert question(None, 1) == question("base", 1) == "Are confirmed messages safe?"
    assert question("base", 2) == "Is any design better than base?"


def test_too_few_effective_trials_give_no_verdict():
    rows = [base() | {"trials": 20_000, "effective_trials": 81.0, "mean_low": None, "mean_high": None}]
    answer = verdict(rows, "base")
    assert answer.sentence == (
        "Cannot tell: the trials of base in rack count only as 81 of 20,000 unbiased ones, because failures are"
        " biased too much."
    )
    assert todo(rows, answer, "base", "x")[0].what.startswith("Bias failures less")
    assert verdict([rows[0] | {"effective_trials": 400.0}], "base").answer == "no"


def test_design_with_unobserved_split_brain_is_not_recommended():
    rows = [base(), estimate("autoheal", "lost_confirmed", -3.0, -1.0), estimate("new", DOWN, -3.0, -1.0)]
    unseen = {("autoheal", "cuts")}
    answer = verdict(rows, "base", unseen)
    assert answer.sentence == "Yes: new is out of use for less than base, and is nowhere worse."
    assert todo(rows, answer, "base", "x", unseen)[0].what.startswith("Choose new instead of base")
    answer = verdict(rows[:2], "base", unseen)
    assert answer.sentence == (
        "Cannot tell: a split brain of autoheal may lose messages that the trials do not count: all clients of a"
        " trial are in one partition."
    )
    assert "clients: every_node" in todo(rows[:2], answer, "base", "x", unseen)[0].what
    assert verdict(rows, "autoheal", unseen).answer == "unknown"


def test_difference_below_the_threshold_needs_no_advice():
    rows = [base(), estimate("new", "lost_confirmed", -3.0, 2.0) | {"least_difference": 5.0}]
    answer = verdict(rows, "base")
    assert answer.sentence == "No: no design differs from base by enough to matter."
    assert todo(rows, answer, "base", "x") == ()


def test_uncertain_assumption_is_advised_before_more_trials():
    moved = {"assumption": "timing.election_s", "values": [0.15, 0.3, 0.6], "differences": [-4.0, 0.0, 4.0]}
    rows = [base(), estimate("new", "lost_confirmed", -1.0, 1.0) | {"sensitivity": [moved]}]
    (asked,) = todo(rows, verdict(rows, "base"), "base", "x")
    assert asked.what.startswith("Find out timing.election_s of your cluster")
    still = [rows[0], rows[1] | {"sensitivity": [moved | {"differences": [-0.5, 0.0, 0.5]}]}]
    (asked,) = todo(still, verdict(still, "base"), "base", "x")
    assert asked.what.startswith("Simulate more trials")


def test_relative_width_uses_the_design_with_events():
    rows = [base() | {"mean": 0.0}, estimate("new", DOWN, -0.1, 0.1) | {"mean": 3.65}]
    assert todo(rows, verdict(rows, "base"), "base", "x") == ()


def test_too_few_trials_advise_more():
    rows = [base() | {"trials": 63, "effective_trials": 63.0, "mean_low": None, "mean_high": None}]
    assert todo(rows, verdict(rows, "base"), "base", "x")[0].what == (
        "Simulate more trials of base: there are too few for intervals."
    )


def test_trade_off_between_loss_and_downtime_is_stated():
    rows = [base(), estimate("new", "lost_confirmed", -3.0, -1.0), estimate("new", "publish_down_s", 1.0, 3.0)]
    answer = verdict(rows, "base")
    assert answer.sentence == (
        "Yes, but only in part: new loses less than base, and is out of use for longer in rack."
    )
    assert [one.what for one in todo(rows, answer, "base", "x")] == [
        "Decide what counts more in rack: new loses less than base, and is out of use for longer."
    ]

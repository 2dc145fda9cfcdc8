"""Lessons: predictions, rules to look up, and exercises that the engine checks, for the notebooks from 10 on.

A notebook calls what `notebook` offers. Everything is plain Python that is tested without a browser; `view` alone knows
widgets. What a reader guesses and answers goes to one file (`answers`). Lessons show refusals in their own words,
so the warnings of `hawb.Cluster` are off.
"""

import warnings

warnings.filterwarnings("ignore", message="RabbitMQ refused", category=UserWarning)

NOTEBOOK = (
    "beside", "check", "exercise", "game", "logs", "look", "play", "predict", "reset_lesson", "show_rule", "switches",
    "tell", "truth",
)  # fmt: skip
"""What a lesson's notebook uses."""


def __getattr__(name: str):
    """The functions of a notebook on first use, so that the exercises can be had without widgets."""
    if name in NOTEBOOK:
        from hawb.lessons import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'hawb.lessons' has no attribute {name!r}")

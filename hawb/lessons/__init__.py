"""Provide lessons: predictions, rules to look up, and exercises that the engine checks, for the notebooks from 10 on.

A notebook calls the functions of `notebook`. Everything is plain Python that is tested without a browser; only `view`,
`question` and `switchboard` contain widgets. The reader's guesses and answers are stored in one file (`answers`).
Lessons display refusals themselves, so the warnings of `hawb.Cluster` are off.
"""

import warnings

warnings.filterwarnings("ignore", message="RabbitMQ refused", category=UserWarning)

NOTEBOOK = (
    "beside", "check", "exercise", "game", "logs", "look", "play", "predict", "reset_lesson", "show_rule", "switches",
    "tell", "truth",
)  # fmt: skip
"""The functions for a lesson's notebook."""


def __getattr__(name: str):
    """Import a notebook's function on first access, so that importing the exercises imports no widgets."""
    if name in NOTEBOOK:
        from hawb.lessons import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'hawb.lessons' has no attribute {name!r}")

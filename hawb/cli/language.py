"""The option `--language`: the language in which a command answers people. It does not change JSON output."""

from __future__ import annotations

import click

from hawb import languages


def _named(_context: click.Context, _option: click.Parameter, wanted: str) -> str:
    try:
        return languages.named(wanted)
    except ValueError as unknown:
        raise click.BadParameter(str(unknown)) from None


in_a_language = click.option(
    "--language", default=languages.ENGLISH, envvar=languages.VARIABLE, show_envvar=True, show_default=True,
    callback=_named, metavar="|".join(languages.LANGUAGES), help="The language of the answer.",
)  # fmt: skip

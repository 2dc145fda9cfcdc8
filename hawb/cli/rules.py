"""The command that finds a rule: `hawb rule`."""

from __future__ import annotations

import difflib

import click

from hawb.cli.files import refuse


@click.command()
@click.argument("words", nargs=-1, required=True)
def rule(words: tuple[str, ...]) -> None:
    """Show the rules about WORDS, with their code and source.

    WORDS are RabbitMQ's terms, such as "promote on shutdown", "delivery limit" or "forget offline", or the name of a
    function in hawb. If one rule matches, hawb prints its code, its source in RabbitMQ, the sentence in RabbitMQ's
    guide, the scenarios that show the rule, and what real clusters did in these scenarios. If several rules match, hawb
    lists all of them. If no rule has all WORDS, hawb lists the most similar rules.
    """
    from hawb.lessons.behaviours import all_behaviours, found, nearest
    from hawb.lessons.rule_sources import rule as rule_of
    from hawb.lessons.rule_sources import rule_text

    asked = " ".join(words)
    behaviours = [each for each in all_behaviours() if each.name == asked] or found(asked)
    if len(behaviours) == 1:
        click.echo(f"{behaviours[0].asked}\n\n{rule_text(rule_of(behaviours[0].function))}")
        return
    near = nearest(asked)
    if not near:
        raise SystemExit(refuse(f"no rule matches {asked!r}{_typo(asked)} data/rules.md lists all rules"))
    if not behaviours:
        click.echo(f"No rule has all the words of {asked!r}. The most similar rules are:")
    for each in behaviours or near:
        click.echo(f"{each.name}, {each.file}: {each.asked}")


def _typo(asked: str) -> str:
    """Return the end of a refusal: the known words that are spelled similarly, if there are any."""
    from hawb.lessons.behaviours import all_behaviours, words_of

    known = sorted({word for each in all_behaviours() for word in words_of(each.asked)})
    near = [one for word in words_of(asked) for one in difflib.get_close_matches(word, known)]
    return f"; did you mean {', '.join(near)}?" if near else "."

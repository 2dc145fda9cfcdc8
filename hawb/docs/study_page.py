"""Write the page of study files and files of the user's own numbers, from the structs that they are decoded into."""

from __future__ import annotations

from pathlib import Path

from hawb.docs.scenario_pages import PARTS
from hawb.docs.struct_tables import links, section, structs_below
from hawb.study.numbers import Numbers
from hawb.study.question import Study

HEAD = """# Study files

A study asks how likely something is: *designs* (what an operator chooses) × *environments* (what happens, and what
clients do) × *trials* × *horizon*. [Questions](../explanation/studies.md) lists the studies, and explains how to play
one and where its numbers come from. This page is generated from the structs that the files are decoded into.

"""
OWN = """
## Your own numbers

A file with numbers that replace those of any study: `hawb import --numbers` begins one.

"""


def study_page(data: Path) -> str:
    """Return the page."""
    asked = [struct for struct in structs_below(Study) if struct not in PARTS]
    own = [struct for struct in structs_below(Numbers) if struct not in (*PARTS, *asked)]
    places = links([*PARTS, *asked, *own])
    parts = [section(struct, struct.__name__, "##", places) for struct in asked]
    return HEAD + "\n".join(parts) + OWN + "\n".join(section(struct, struct.__name__, "###", places) for struct in own)

"""Write the page of study files and files of the user's own numbers, from the structs that they are decoded into."""

from __future__ import annotations

from pathlib import Path

from hawb.docs.scenario_pages import PARTS
from hawb.docs.struct_tables import links, section, structs_below
from hawb.study.numbers import Numbers
from hawb.study.question import Study

HEAD = """# Study files

A study estimates how likely something is. It combines *designs* (settings that an operator chooses) and *environments*
(the faults and the clients), each for a number of *trials* and a *horizon* (the simulated time).
[Studies](../explanation/studies.md) lists the studies that come with hawb, and explains how to play one and where its
numbers come from. This page is generated from hawb's code.

"""
OWN = """
## Your own numbers

The numbers in this file replace those of any study. `hawb import --numbers` writes a first version of it.

"""


def study_page(data: Path) -> str:
    """Return the page."""
    asked = [struct for struct in structs_below(Study) if struct not in PARTS]
    own = [struct for struct in structs_below(Numbers) if struct not in (*PARTS, *asked)]
    places = links([*PARTS, *asked, *own])
    parts = [section(struct, struct.__name__, "##", places) for struct in asked]
    return HEAD + "\n".join(parts) + OWN + "\n".join(section(struct, struct.__name__, "###", places) for struct in own)

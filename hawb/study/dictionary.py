"""Write the data dictionary `data/tables.md`: `python -m hawb.study.dictionary`, in a checkout."""

from __future__ import annotations

from hawb.scenario.checkout import data_folder_for
from hawb.scenario.saving import write
from hawb.study.fleet_tables import OF_AUDITS, OF_EXPORTS
from hawb.study.tables import OF_STUDIES, dictionary

if __name__ == "__main__":
    write(data_folder_for("data") / "tables.md", dictionary((*OF_STUDIES, *OF_AUDITS, *OF_EXPORTS)))

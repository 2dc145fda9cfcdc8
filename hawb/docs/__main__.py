"""Write the documentation's pages into a folder: `python -m hawb.docs FOLDER`."""

import sys
from pathlib import Path

from hawb.docs.sources import write_all

if len(sys.argv) != 2:
    sys.exit("python -m hawb.docs FOLDER: the folder to write the pages into, for Sphinx")
write_all(Path(sys.argv[1]))

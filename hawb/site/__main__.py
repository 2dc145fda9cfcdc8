"""Run `hawb.site.build`: `python -m hawb.site FOLDER [SCENARIO...]`."""

import sys

from hawb.site.build import main

if __name__ == "__main__":
    main(sys.argv[1:])

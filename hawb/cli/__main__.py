"""`python -m hawb.cli`"""

from hawb.cli import main

main(prog_name="hawb")

"""Run `hawb` as `python -m hawb.cli`."""

from hawb.cli import main

if __name__ == "__main__":  # a process that is spawned imports this too
    main(prog_name="hawb")

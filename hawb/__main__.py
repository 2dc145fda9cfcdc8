"""The program `hawb`, and `python -m hawb`: it listens for signals before it imports what commands need."""

from __future__ import annotations

from hawb import process


def main() -> None:
    """Play the command line."""
    with process.listening(program=True):
        from hawb.cli import main as command

        command(prog_name="hawb")


if __name__ == "__main__":  # a process that is spawned imports this too
    main()

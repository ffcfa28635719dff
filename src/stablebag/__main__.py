"""``python -m stablebag`` is the command `stablebag`."""

from stablebag.cli.main import main

if __name__ == "__main__":
    main(prog_name="stablebag")

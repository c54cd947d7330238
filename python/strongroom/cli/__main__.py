"""``python -m strongroom.cli``: the same as the command ``strongroom``."""

from strongroom.cli.app import main

main()

"""The command line: everything that the bindings do, for people and for scripts."""

from strongroom.cli.app import app as app
from strongroom.cli.app import main as main

"""The program behind `python -m dxopt`."""

from dxopt.cli import main

main()

"""The program behind `python -m dxopt.cli`."""

from dxopt.cli import main

main()

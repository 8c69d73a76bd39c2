"""``python -m komlm``."""

from komlm.cli import main

main()

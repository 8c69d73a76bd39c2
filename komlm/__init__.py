"""komlm: Korean masked language models that hide whole morphemes and whole eojeols."""

__version__ = "0.1.0"

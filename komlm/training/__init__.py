"""The pretraining loop and what belongs to a run: checkpoints, metrics, held-out measurements.

``loop.py`` is the place to start: it reads from top to bottom.
"""

"""What trained models are worth, and how they differ."""

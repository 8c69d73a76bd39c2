"""From text to units: normaliser, tags, analysis, tokenizer, alignment. Imports no torch."""

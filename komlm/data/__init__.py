"""Token shards on disk, and the rows that are cut from them."""

"""Where the bytes are: a folder, or a bucket."""

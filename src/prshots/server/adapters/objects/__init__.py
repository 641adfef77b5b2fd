"""The origin store: a folder or a bucket."""

"""Images: upload, checks, thumbnails, staging, one-time URLs, expiry."""

"""Images, staged images and one-time URLs in SQL."""

"""What is done with images: decoding, thumbnails, comparison. Only picture workers import it."""

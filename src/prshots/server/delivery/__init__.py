"""The delivery component: checks a signature and sends an image. It has no database and writes nothing."""

"""The delivery component: checks a signature and sends an image. It uses no database and writes nothing."""

"""The delivery component: it checks a signature and sends an image. No database, no writable handle."""

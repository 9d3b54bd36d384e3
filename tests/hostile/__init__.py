"""Trees of files that were made to stop gradpath, to lead it out of them, or to speak in its place."""

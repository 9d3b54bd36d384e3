"""What the names of training frameworks mean, one file a framework."""

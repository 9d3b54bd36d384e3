"""What is presumed of unseen values: by their uses, their annotations, and last their names."""

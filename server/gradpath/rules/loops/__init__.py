"""What a training loop keeps, clears and steps: the parts of the rules about loops."""

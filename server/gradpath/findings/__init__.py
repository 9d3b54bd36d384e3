"""What a trace shows, asked by more than one rule: graphs, gradients, what learns; and how it is worded."""

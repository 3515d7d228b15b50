"""Training of heads on the tokens of a frozen encoder: batches, losses, the loop and what it leaves on disk."""

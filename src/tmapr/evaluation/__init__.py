"""What estimates are worth: arrays and documents in, documents out; nothing is run or written here."""

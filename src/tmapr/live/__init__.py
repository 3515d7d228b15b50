"""Live: a camera's frames are answered as they come, while what is said of them is learned from, shown and sent on."""

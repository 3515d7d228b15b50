"""Where answers go: files, a terminal, a monitor."""

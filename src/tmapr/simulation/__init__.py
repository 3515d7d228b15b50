"""A rendered thermal world, from streets to a camera's counts; and, for tests, percepts made up without any image."""

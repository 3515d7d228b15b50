"""What a GPU does: the encoder with its preparation, and the two large products, K·X with its update and M₀·d.

Each file is behind a seam of the CPU's code and replaces one function of it; what follows a product is the CPU's, once.
Plain torch, no kernel of our own, no graph but the encoder's. All of it runs on torch's CPU device too, for tests.
"""

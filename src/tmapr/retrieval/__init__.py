"""The reference memory M₀ and the search in it."""

"""What one figure shows, each drawn from a sequence or from arrays as SVG or HTML."""

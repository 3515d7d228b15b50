"""What was learned, lesson by lesson, on disk: so that a kill loses little, and any lesson can be taken back."""

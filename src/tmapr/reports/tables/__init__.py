"""What was measured, as tables for a terminal, Markdown, LaTeX, JSON and HTML."""

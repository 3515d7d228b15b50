"""The kit: SVG marks, axes and scales, markup, pictures, and which points of a line are worth drawing."""

"""Where frames come from that need no middleware: a program, a recording, a folder that grows, a camera."""

"""Runs on paper: tables, figures as SVG, and one page of HTML that holds them all."""

"""Learning from one's own estimates: only what the smoothed past is sure of, in balance, and only if it helps."""

from tmapr.learning.making import make_student
from tmapr.learning.student import LAYOUT, Student

__all__ = ["LAYOUT", "Student", "make_student"]

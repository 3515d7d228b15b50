"""Who learns from its own estimates, if the method allows it."""

from tmapr.learning.student import Student
from tmapr.retrieval.memory import Memory
from tmapr.tracking.place import Placer


def make_student(placer: Placer | None, memory: Memory, certainty: float) -> Student | None:
    """Of a map's route; only the route filter's past can be smoothed."""
    return Student(placer.route, memory, placer.radius, certainty) if placer else None

"""From a map to the route that its references were driven along."""

from tmapr.retrieval.memory import Memory
from tmapr.tracking.route import Route, lay_route


def lay_route_of(memory: Memory) -> Route:
    """The route that a map's references were driven along."""
    return lay_route(
        memory.drives(), memory.positions, memory.stamps, memory.places, memory.descriptors, memory.headings
    )

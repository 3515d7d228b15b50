"""The topics of a bag for whoever chooses among them: what each holds, what is read of it, and what cannot be, and why.

Chosen are those that `read_bag` chooses, by the same functions; of each image topic one message is looked at.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tmapr.data.bag import GUESSED, Topics, choose_images, choose_motion, choose_positions
from tmapr.data.messages import FIX, IMAGES, POSES, SPEEDS, YAW_RATES, Bag, Topic
from tmapr.exceptions import InputError

_ROLES = {"image": (*IMAGES,), "position": (*POSES, FIX), "speed": (*SPEEDS,), "yaw_rate": (*YAW_RATES,)}


@dataclass(frozen=True, slots=True)
class TopicUse:
    """A topic, how its images are encoded, what it is read as, and otherwise why not."""

    topic: Topic
    encoding: str
    roles: tuple[str, ...]
    remark: str


def list_topics(path: Path, topics: Topics = GUESSED) -> list[TopicUse]:
    """Every topic of a bag, by name; what is wrong with one hides no other."""
    bag = Bag(path)
    recorded = bag.topics()
    chosen: dict[str, Topic | None] = {}
    for role, choose in _CHOICES.items():
        try:
            chosen[role] = choose(path, recorded, topics)
        except InputError:  # opening the bag says why
            chosen[role] = None
    return [_describe(bag, topic, chosen) for topic in bag.list_all()]


def _describe(bag: Bag, topic: Topic, chosen: dict[str, Topic | None]) -> TopicUse:
    roles = tuple(role for role, found in chosen.items() if found == topic)
    encoding, wrong = _look_at(bag, topic) if topic.kind in IMAGES and topic.count else ("", "")
    if wrong or roles:
        return TopicUse(topic, encoding, roles, wrong)
    return TopicUse(topic, encoding, roles, _explain(topic))


def _look_at(bag: Bag, topic: Topic) -> tuple[str, str]:
    """How the first image is encoded, and why that cannot be read."""
    try:
        with closing(bag.messages(topic)) as messages:
            where, _, message = next(messages)
    except (InputError, StopIteration) as error:
        return "", str(error)
    encoding = f"compressed {message.format}" if "Compressed" in topic.kind else str(message.encoding)
    try:
        counts = IMAGES[topic.kind](message, where)()
    except InputError as error:
        return encoding, str(error).removeprefix(f"{where}: ")
    return f"{encoding}, {counts.shape[1]}x{counts.shape[0]}, {8 * counts.itemsize} bit", ""


def _explain(topic: Topic) -> str:
    """Why nothing is read of a topic that nothing is wrong with."""
    if not topic.count:
        return "no message"
    fitting = [role for role, kinds in _ROLES.items() if topic.kind in kinds]
    if not fitting:
        return "no type that is read"
    return f'not chosen; data.topics.{fitting[0]} = "{topic.name}" would'


_CHOICES: dict[str, Callable[[Path, list[Topic], Topics], Topic | None]] = {
    "image": choose_images,
    "position": choose_positions,
    "speed": lambda path, recorded, topics: choose_motion(path, recorded, topics)[0],
    "yaw_rate": lambda path, recorded, topics: choose_motion(path, recorded, topics)[1],
}

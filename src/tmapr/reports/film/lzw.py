"""The compression of GIF, in which pixels that look alike count as the same.

LZW replaces strings that it has met by numbers. A thermal picture is noise, in which no string comes twice; but a
colour beside another in the palette cannot be told apart from it, so a string is also taken if its colours are as near
as that. A pixel that still looks like the one before it may stay as it is, too: that is the colour `clear`, which shows
nothing. Each choice is held against the true colour, so that nothing adds up from frame to frame.
"""

import numpy as np

from tmapr.compiled import compiled

CODES = 4096
_RESTART, _END = 256, 257


@compiled()
def compress(colours: np.ndarray, shown: np.ndarray, near: np.ndarray, looks: np.ndarray, clear: int) -> np.ndarray:
    """The codes of one frame, eight bits a colour, and what is shown afterwards, which replaces `shown`.

    `near[colour]` lists colours that may stand for it, the best first, ended by -1; `looks[a, b]` says whether b may
    stand for a.
    """
    children = np.full((CODES, 256), -1, np.int16)
    out = np.empty(2 * colours.size + 16, np.uint8)
    state = np.zeros(3, np.int64)  # bytes written, bits that wait, and how many
    count, width = _END + 1, 9
    _emit(out, state, _RESTART, width)
    node = -1
    for place in range(colours.size):
        colour = colours[place]
        may_stay = looks[colour, shown[place]]
        if node >= 0:
            found = -1
            if may_stay and children[node, clear] >= 0:
                found = clear
            else:
                for rank in range(near.shape[1]):
                    other = near[colour, rank]
                    if other < 0:
                        break
                    if children[node, other] >= 0:
                        found = other
                        break
            if found >= 0:
                node = children[node, found]
                if found != clear:
                    shown[place] = found
                continue
            _emit(out, state, node, width)
        first = clear if may_stay else colour
        if node >= 0:
            if count < CODES:
                children[node, first] = count
                # The reader of the codes is one string behind.
                if count == 1 << width:
                    width += 1
                count += 1
            else:
                _emit(out, state, _RESTART, width)
                children[:] = -1
                count, width = _END + 1, 9
        node = first
        if first != clear:
            shown[place] = first
    _emit(out, state, node, width)
    if count == 1 << width and width < 12:
        width += 1
    _emit(out, state, _END, width)
    if state[2] > 0:
        out[state[0]] = state[1] & 255
        state[0] += 1
    return out[: state[0]]


@compiled()
def _emit(out: np.ndarray, state: np.ndarray, code: int, width: int) -> None:
    """Bits from the lowest on, as GIF packs them."""
    state[1] |= code << state[2]
    state[2] += width
    while state[2] >= 8:
        out[state[0]] = state[1] & 255
        state[0] += 1
        state[1] >>= 8
        state[2] -= 8

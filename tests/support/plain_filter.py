"""The route filter a second time: a dense Bayes filter, its states and steps written out plainly and nothing of ours.

Written to be read beside `docs/method.md`, not to be fast: every motion is a matrix from each reference to each, every
change of speed a matrix from each speed to each. Of the package it takes a route's arrays and the filter's numbers.
"""

import numpy as np

from tmapr.tracking import speeds as numbers

SPEEDS = numbers.SPEEDS
COUNT = len(SPEEDS)
AHEAD = SPEEDS > 0


def happens(rate, metres):
    """The chance that something with a rate a metre happens on so many metres."""
    return 1.0 - np.exp(-rate * metres)


def usual_speeds():
    """How fast it is driven where nobody knows: log-normal around the mapped speed, seldom backwards."""
    usual = np.exp(-0.5 * (np.log2(abs(SPEEDS)) / numbers._STILL_USUAL) ** 2)
    forwards, backwards = usual * AHEAD, usual * ~AHEAD
    return (1 - numbers.REVERSING) * forwards / forwards.sum() + numbers.REVERSING * backwards / backwards.sum()


def speed_matrix(prior):
    """[from, to]: any speed anew; or, forwards, the next slower or faster one, which the outermost have not."""
    matrix = np.zeros((COUNT, COUNT))
    first, last = int(np.argmax(AHEAD)), COUNT - 1
    for k in range(COUNT):
        matrix[k] += numbers.REDRAW * prior
        matrix[k, k] += 1 - numbers.REDRAW
        if AHEAD[k]:
            matrix[k, k] -= numbers.CHANGE
            matrix[k, max(k - 1, first)] += numbers.CHANGE / 2
            matrix[k, min(k + 1, last)] += numbers.CHANGE / 2
    return matrix


class PlainFilter:
    """on[speed, reference], mimic[speed, reference], off[place] and reach[place], pace[speed]."""

    def __init__(self, route):
        self.route, self.prior = route, usual_speeds()
        self.change = speed_matrix(self.prior)
        self.lay_cells()
        self.share = self.width / self.width.sum()
        self.usual = np.median(route.lengths)
        self.names = sorted(set(route.places.tolist()))
        self.inside = np.array([[place == name for place in route.places] for name in self.names])
        self.place_share = self.inside @ self.share
        self.centres = np.array([np.average(route.positions[row], axis=0, weights=self.share[row])
                                 for row in self.inside])  # fmt: skip
        self.neighbours = np.zeros((len(route), len(route)))
        for here, there in route.links:
            self.neighbours[here, there] += 1
        self.restart()

    def lay_cells(self):
        """Where each reference's cell begins and ends on its traverse, and the traverse."""
        route, at = self.route, 0
        bounds, ends = [], [*route.first[1:], len(route)]
        for drive, (first, end) in enumerate(zip(route.first, ends, strict=True)):
            edges = route.edges[at : at + end - first + 1]
            bounds += [(edges[n], edges[n + 1], drive, edges[0], edges[-1]) for n in range(end - first)]
            at += len(edges)
        self.begin, self.end, self.drive, self.start, self.stop = np.array(bounds).T
        self.width = self.end - self.begin
        self.closed = route.closed[self.drive.astype(int)]

    def restart(self):
        off = numbers.START_OFF
        self.on = (1 - off) * np.outer(self.prior, self.share)
        self.mimic = off / 2 * np.outer(self.prior, self.share)
        self.off = off / 2 * self.place_share
        self.reach = np.full(len(self.names), numbers.ANYWHERE)
        self.pace = self.prior

    def motion(self, near, far):
        """[from, to]: a cell's mass lies evenly from `near` metres after its begin to `far` metres after its end."""
        begin, end = self.begin + near, self.end + far
        length, around = end - begin, self.stop - self.start
        matrix = np.zeros((len(begin), len(begin)))
        turns = np.arange(np.floor(min(np.min(near), 0) / around.min()) - 1, np.max(far) / around.min() + 2)
        for turn in turns:  # once around is where it began
            shift = np.where(self.closed, turn * around, 0.0)
            low = np.maximum((begin - shift)[:, None], self.begin[None, :])
            high = np.minimum((end - shift)[:, None], self.end[None, :])
            matrix += np.where((shift != 0)[:, None] | (turn == 0), np.maximum(high - low, 0.0), 0.0)
        matrix *= self.drive[:, None] == self.drive[None, :]
        matrix /= length[:, None]
        everywhere = self.width / around * (self.drive[:, None] == self.drive[None, :])
        return np.where((self.closed & (length >= around))[:, None], everywhere, matrix)

    def move(self, mass, fits, step, ways, stays):
        """The mass at each speed and reference after a step, and what drove over the end of each reference's way."""
        changed = self.change.T @ mass
        moved, over = np.zeros_like(mass), np.zeros(mass.shape[1])
        span = 2.0 * min(step.change, numbers.FAR_VIEW) * self.route.lengths
        for k, (near, far) in enumerate(ways):
            driven = self.motion(near, far)
            stood = self.motion(0.0, span) if AHEAD[k] else self.motion(-span, 0.0)
            for matrix, part in ((driven, (1 - stays) * changed[k] * fits[k]), (stood, stays * changed[k])):
                moved[k] += part @ matrix
                over += part * (1 - matrix.sum(axis=1))
        return moved, over

    def ways(self, step):
        """The shortest and the longest way of each speed."""
        if step.metres is not None:
            told = [step.metres if (step.metres < 0) == (speed < 0) else 0.0 for speed in SPEEDS]
            slack = numbers.ODOMETRY_ERROR * abs(step.metres)
            return [(way - slack, way + slack) for way in told]
        middle, factor = SPEEDS * self.route.speed * step.seconds, numbers.HALF_STEP
        return [tuple(sorted((way / factor, way * factor))) for way in middle]

    def fit(self, step, lengths):
        """[speed, length]: how well the change of view fits the way that a speed drives."""
        fits = np.zeros((COUNT, len(lengths)))
        for k, speed in enumerate(SPEEDS):
            for n, length in enumerate(lengths):
                if step.metres is not None:
                    fits[k, n] = (step.metres < 0) == (speed < 0)
                    continue
                way = max(abs(speed) * self.route.speed * step.seconds, 1e-9)
                off = np.log(way / (length * min(step.change, numbers.FAR_VIEW)))
                if step.change >= numbers.FAR_VIEW:
                    off = min(off, 0.0)
                fits[k, n] = np.exp(max((1 - (off / numbers.VIEW_SPREAD) ** 2) / 2, numbers.LEAST))
        return fits

    def expect_metres(self, step):
        """How far it is to the new view, before anything is moved."""
        if step.metres is not None:
            return abs(step.metres)
        where = self.on.sum(axis=0)
        view = sum(where * self.route.lengths) + (1 - sum(where)) * self.usual
        seen = view * min(step.change, numbers.FAR_VIEW)
        if step.change < numbers.FAR_VIEW:
            return seen
        speeds = self.on.sum(axis=1) + (self.off.sum() + self.mimic.sum()) * self.pace
        return max(seen, sum(speeds * abs(SPEEDS)) * self.route.speed * step.seconds)

    def predict(self, step):
        route, saturated = self.route, step.change >= numbers.FAR_VIEW
        if step.metres is None and saturated and step.seconds * route.speed > self.width.sum():
            self.restart()
            return np.zeros(len(route))
        metres, ways = self.expect_metres(step), self.ways(step)
        halted = numbers.HALTED / 4 if saturated else numbers.HALTED
        halted = halted if step.metres is None else 0.0
        self.on, over = self.move(self.on, self.fit(step, route.lengths), step, ways, halted)
        self.hop(metres)
        leaving = happens(numbers.LEAVE, metres)
        left = leaving * self.on.sum(axis=0) + over
        self.on = (1 - leaving) * self.on
        return self.drive_off(step, ways, metres, left)

    def hop(self, metres):
        share = happens(numbers.HOP, metres)
        for here in range(len(self.route)):
            if self.neighbours[here].any():
                self.neighbours[here] /= self.neighbours[here].sum()
        linked = self.neighbours.sum(axis=1)
        self.on = self.on * (1 - share * linked) + share * self.on @ self.neighbours

    def drive_off(self, step, ways, metres, left):
        pace = (self.change.T @ self.pace) * self.fit(step, [self.usual])[:, 0]
        fit, self.pace = pace.sum(), pace / pace.sum()
        off, mimic = self.off * fit, self.mimic * fit
        self.reach = self.reach + numbers.REACH * metres
        returning, masking = happens(numbers.RETURN, metres), happens(numbers.MIMIC, metres)
        back = self.arrive(returning * off)
        stayed = (1 - returning) * off
        moved, over = self.move(mimic, np.ones_like(mimic), step, ways, numbers.STUCK)
        ending = happens(numbers.UNMASK, metres)
        begun = masking * stayed.sum() * np.outer(self.pace, self.share)
        ended = ending * moved.sum() + over.sum()
        self.mimic = (1 - ending) * moved + begun
        off = (1 - masking) * stayed
        off = off + ended * (off / off.sum() if off.sum() > 0 else self.place_share)
        came = self.inside @ left
        for place in range(len(off)):
            both, fresh = off[place] + came[place], 3.0 * self.route.spacing
            if both > 0:
                self.reach[place] = (off[place] * self.reach[place] + came[place] * fresh) / both
        self.off = off + came
        return back

    def arrive(self, mass):
        """What comes back from each place goes to the references of all places within its reach, as they are long."""
        back = np.zeros(len(self.route))
        for place, centre in enumerate(self.centres):
            distance = np.hypot(*(self.centres - centre).T)
            near = [other for other in range(len(mass)) if other == place or distance[other] <= self.reach[place]]
            among = self.share * self.inside[near].any(axis=0)
            back += mass[place] * among / among.sum()
        return back

    def update(self, evidence, arriving):
        likelihood, carried = np.exp(evidence), numbers.CARRIED * self.on.sum() * self.share
        there = (1 - numbers.CARRIED) * self.on + np.outer(self.prior, carried) + np.outer(self.pace, arriving)
        on, mimic = there * likelihood, self.mimic * likelihood
        total = on.sum() + mimic.sum() + self.off.sum()
        self.on, self.mimic, self.off = on / total, mimic / total, self.off / total
        return np.log(total)

"""The paper's online half a second time: its equations (2)–(10) in their order, in dense NumPy and nothing of ours.

Written to be read beside the paper, not to be fast: full matrices, W = KQ as printed. `test_second_version.py` runs
the package against it. Where the package departs from the paper, or chooses what it leaves open, so does this file, and
a mark as [trust] says which entry of DEPARTURES or CHOICES there explains it. Stamps are nanoseconds; all else is SI.
"""

import math
from dataclasses import make_dataclass

import numpy as np

Candidate = make_dataclass("Candidate", ["reference", "p", "place", "s", "score", "support", "margin"])
Answer = make_dataclass("Answer", ["reason", "x", "P", "candidate", "found", "leverage", "constrained", "c", "d"])


class Numbers:
    """The method's numbers: a letter of the paper where it has one, else a word."""

    g, lam, U, G, H = 15.0, 0.1, True, True, True
    w_mean, w_update, w_alone = (0.6, 0.2, 0.2), (1.0, 0.35, 0.35), 1.7  # the paper's last one is 1
    spread, on_sphere = math.sqrt(2.5), True
    components, prior_count, least_variance, max_count, novelty = 3, 8.0, 0.02, 100.0, 3.0
    gamma, eta, w_min, level = 5.0, 0.1, 0.9, None  # level: γ of the minimax recursion, where that is used
    mode, candidates, best_places, neighbours = "places", 1, 5, 1
    class_weight, likelihood_weight, likelihood_clip, grouped = 0.3, 0.1, 3.0, False
    trusted_leverage, steepness, support_matches, radius, probes = 0.15, 4.0, 10, 10.0, 256
    s_min, bounds, min_margin = 0.6, None, 0.0
    tau_p, c_min, max_jump, max_speed, expiry, recovery = 20.0, 0.1, 10.0, 20.0, 10.0, 5
    use_poses = True
    q_p, q_v, acceleration, r_a, r_l, r_min = 0.25, 1.0, False, 9.0, 3.0, 4.0
    unknown_speed, max_gap, lost, label_axis, label_support, label_margin = 10.0, 30.0, 10.0, 5.0, 0.5, 0.5

    def __init__(self, **changes):
        vars(self).update(changes)


def absorb(K, Q, X, Y):
    """Eq. (2): K⁺ and Q⁺."""
    inner = np.linalg.inv(np.eye(len(X)) + X @ K @ X.T)
    return K - K @ X.T @ inner @ X @ K, Q + X.T @ Y


def attenuate(y, r, gamma, eta, w_min):
    """Eq. (4)."""
    return min(max(gamma / (gamma + eta * np.linalg.norm(y - r)), w_min), 1.0)


class Adaptation:
    """A_t. Given are the grid's origin o, how d becomes z [classifier input] and the small row of G [mixture]."""

    def __init__(self, n, width, o, lift, reduce):
        self.n, self.o, self.lift, self.reduce, self.cells = n, o, lift, reduce, []
        dim, small = len(lift(np.zeros(width))), len(reduce(np.zeros(width)))
        self.K, self.Q, self.W = np.eye(dim) / n.lam, np.zeros((dim, 0)), np.zeros((dim, 0))
        self.sums, self.counts, self.v, self.turns = [], [], np.zeros(width), 0
        self.mixtures, self.shared, self.shared_count = [], np.full(small, 1 / small), n.prior_count

    def enter(self, p):
        """The place of the cell b = ⌊(p − o)/g⌋, a new one if it was never entered."""
        cell = tuple(np.floor((p - self.o) / self.n.g).tolist())
        if cell not in self.cells:
            self.cells.append(cell)
            self.Q, self.W = (np.pad(matrix, ((0, 0), (0, 1))) for matrix in (self.Q, self.W))
            self.sums, self.counts, self.mixtures = [*self.sums, 0.0 * self.v], [*self.counts, 0], [*self.mixtures, []]
        return self.cells.index(cell)

    def features(self, d):
        """Rows z, or z, z⁺ and z⁻: [sigma points] moved in d, put back on the sphere, then lifted."""
        points = d[None]
        if self.n.U:
            length = np.linalg.norm(self.v)
            step = self.n.spread * self.v / math.sqrt(length or 1.0)
            points = np.array([d, d + step, d - step])
            if self.n.on_sphere:
                points /= np.linalg.norm(points, axis=1)[:, None]
        return self.lift(points)

    def scores(self, d):
        """Every place's logit, with U the mean of eq. (3); the leverage λzᵀKz/zᵀz; with G every log-likelihood."""
        Z = self.features(d)
        logits, z = Z @ self.W, Z[0]
        mean = np.array(self.n.w_mean) @ logits if self.n.U else logits[0]
        leverage = min(self.n.lam * (z @ self.K @ z) / (z @ z), 1.0)
        return mean, leverage, self.log_likelihoods(self.reduce(d)) if self.n.G else None

    def learn(self, d, p):
        """One sample through eqs. (2)–(4): its place and the weights of its rows."""
        n, Z, place = self.n, self.features(d), self.enter(p)
        y = np.eye(len(self.cells))[place]
        w = np.array(n.w_update if n.U else [n.w_alone])  # [sample weight]
        if n.H and n.level is None:
            w = w * attenuate(y, Z[0] @ self.W, n.gamma, n.eta, n.w_min)
        X, Y = np.sqrt(w)[:, None] * Z, np.sqrt(w)[:, None] * y
        if n.H and n.level is not None:  # [minimax]
            gain = self.K @ X.T @ np.linalg.inv(np.eye(len(X)) + X @ self.K @ X.T)
            self.W = self.W + gain @ (Y - X @ self.W)
            self.K, _ = absorb(self.K, self.Q, math.sqrt(1 - n.level**-2) * X, Y)
        else:
            self.K, self.Q = absorb(self.K, self.Q, X, Y)
            self.W = self.K @ self.Q
        self.vary(d, place)
        if n.G:
            self.mix(self.reduce(d), place)
        return place, w

    def vary(self, d, place):
        """[sigma points] v ← v + (δδᵀv/‖v‖ − v)/k over unbiased deviations δ from the place's mean."""
        seen = self.counts[place]
        if seen:
            delta = math.sqrt(seen / (seen + 1)) * (d - self.sums[place] / seen)
            length = np.linalg.norm(self.v)
            pull = delta * (delta @ self.v) / length if length else delta * np.linalg.norm(delta)
            self.turns += 1
            self.v = self.v + (pull - self.v) / self.turns
        self.sums[place] = self.sums[place] + d
        self.counts[place] += 1

    def gaussians(self, row, parts):
        """[mixture] log(count · density) of [count, mean, variance], and the mean squared deviation from each."""
        count, mean, variance = (np.array(each) for each in zip(*parts, strict=True))
        sure, prior = np.maximum(count - 1, 0.0)[:, None], self.n.prior_count
        variance = (sure * variance + prior * self.shared) / (sure + prior)
        variance = np.maximum(variance, self.n.least_variance / len(row))
        squares = (row - mean) ** 2 / variance
        return np.log(count) - 0.5 * (squares + np.log(2 * math.pi * variance)).sum(axis=1), squares.mean(axis=1)

    def log_likelihoods(self, row):
        """[mixture] Of every place, per dimension."""
        together = [part for parts in self.mixtures for part in parts]
        starts = np.cumsum([0, *(len(parts) for parts in self.mixtures[:-1])])
        counts = np.add.reduceat([part[0] for part in together], starts)
        return (np.logaddexp.reduceat(self.gaussians(row, together)[0], starts) - np.log(counts)) / len(row)

    def mix(self, row, place):
        """[mixture] A sample far from every Gaussian of its place starts one; else it moves them, by online EM."""
        parts, scatter = self.mixtures[place], 0.0
        logs, squares = self.gaussians(row, parts) if parts else (None, np.array([math.inf]))
        if len(parts) < self.n.components and squares.min() > self.n.novelty:
            parts.append([1.0, row, 0.0 * row])
            return
        for part, share in zip(parts, np.exp(logs - np.logaddexp.reduce(logs)), strict=True):
            count, mean, variance = part
            rate = share / (count + share)
            moved = mean + rate * (row - mean)
            square = (row - mean) * (row - moved)
            part[:] = min(count + share, self.n.max_count), moved, variance + rate * (square - variance)
            scatter = scatter + share * square
        self.shared_count += 1
        self.shared = self.shared + (scatter - self.shared) / self.shared_count


def standardise(values, among):
    """[score] Deviations from the median among some, in their MAD scaled to a normal's deviation."""
    center = np.median(among)
    return (values - center) / (1.4826 * np.median(abs(among - center)) or 1.0)


class Memory:
    """M₀ = {(d_j, p_j, c_j)} in the order it was driven; likelihoods are of so many dimensions."""

    def __init__(self, n, descriptors, positions, places, small=1):
        self.n, self.d, self.p, self.c, self.small = n, descriptors, positions, np.array(places), small
        self.probes = np.linspace(0, len(positions) - 1, min(n.probes, len(positions))).astype(int)

    def search(self, d, scored, cells):
        """Candidates in rank order, and whether the best places constrained them; `scored` is None or `scores`."""
        n, s = self.n, self.d @ d
        score, allowed, constrained = standardise(s, s[self.probes]), np.arange(len(s)), False
        if scored:
            logits, leverage, likelihoods = scored
            trust = 1 / (1 + (leverage / n.trusted_leverage) ** n.steepness)  # [trust]
            term = n.class_weight * standardise(logits, logits)
            if likelihoods is not None:
                usual = standardise(likelihoods, likelihoods)
                term = term + n.likelihood_weight * np.clip(usual, -n.likelihood_clip, n.likelihood_clip)
            score = score + trust * term[self.c]
            constrained = bool(trust >= 0.5 and n.best_places)
            if constrained:  # [best places]
                best = np.array(cells)[np.argsort(-logits, kind="stable")[: n.best_places]]
                away = abs(np.array(cells)[:, None] - best).max(axis=2).min(axis=1)
                allowed = np.flatnonzero(away[self.c] <= n.neighbours)
        # Ties go to the older place, and there to the older frame.
        ranked = allowed[np.lexsort((self.c[allowed], -score[allowed]))]
        unseen, found = np.setdiff1d(self.probes, allowed), []
        for rank, j in enumerate(ranked[: n.candidates]):  # [support and margin]
            near = np.hypot(*(self.p - self.p[j]).T) <= n.radius
            support = near[ranked[: n.support_matches]].mean()
            if n.grouped and scored and likelihoods is not None:  # [grouping]
                group = abs(np.array(cells) - cells[self.c[j]]).max(axis=1) <= n.neighbours
                chance = np.exp(self.small * (likelihoods - likelihoods.max()))
                near, support = group[self.c], chance[group].sum() / chance.sum()
            compared = np.concatenate([ranked[rank:], unseen])
            rival = score[compared][~near[compared]].max(initial=-math.inf)
            found.append(Candidate(j, self.p[j], self.c[j], s[j], score[j], support, score[j] - rival))
        return found, constrained


def confidence(s, d, tau_p, c_min):
    """Eq. (6); [confidence] a cosine may be negative, a confidence may not."""
    return max(s, 0.0) * min(max(1 - d / tau_p, c_min), 1.0)


OBSERVED = np.array([[1, 0, 0, 0], [0, 1, 0, 0.0]])


def motion(dt):
    """F of eq. (7), whose H is OBSERVED."""
    return np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def process_noise(dt, q_p, q_v, acceleration):
    """Q of eq. (8), or [acceleration] what pushes of density q_v add up to over the interval."""
    if not acceleration:
        return np.diag([q_p * dt**2, q_p * dt**2, q_v * dt, q_v * dt])
    push = np.array([[dt / 2, 0], [0, dt / 2], [1, 0], [0, 1]])
    return q_v * dt * push @ push.T + q_v * dt**3 / 12 * OBSERVED.T @ OBSERVED


def loop_variance(c, r_l, r_min):
    """Eq. (9), per axis."""
    return max(r_l / max(c, 1e-4), r_min)


def correct(x, P, z, r):
    """Eq. (10) with R = rI."""
    H, R = OBSERVED, r * np.eye(2)
    L = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
    kept = np.eye(4) - L @ H
    return x + L @ (z - H @ x), kept @ P @ kept.T + L @ R @ L.T


def semi_axis(P):
    """The longest of the ellipse that holds 95 % of the positions: −2 ln 0.05 is that quantile of χ²."""
    (a, b), (_, c) = P[:2, :2]
    return math.sqrt(-2 * math.log(0.05) * ((a + c) / 2 + math.hypot((a - c) / 2, b)))


class Localizer:
    """A frame's way. A sighting is (stamp, p_l, p_a): a candidate's position and the pose head's, if there is one."""

    def __init__(self, n, descriptors, positions, lift, reduce):
        self.n, self.stamp, self.accepted, self.dissent, self.dissenters = n, None, None, None, 0
        self.places = Adaptation(n, descriptors.shape[1], positions[0] - n.g / 2, lift, reduce)  # [grid]
        learned = [self.places.learn(d, p)[0] for d, p in zip(descriptors, positions, strict=True)]
        self.memory = Memory(n, descriptors, positions, learned, len(self.places.shared))
        self.start(positions.mean(axis=0), max(math.hypot(*positions.std(axis=0)), n.tau_p))

    def observe(self, stamp, d, pose=None, faulty=False):
        """Localize one frame."""
        nothing = (None, [], None, False, None, None)
        if self.stamp is not None and stamp <= self.stamp:  # [stamps]
            return Answer("repeated stamp" if stamp == self.stamp else "older stamp", self.x, self.P, *nothing)
        self.predict(stamp)
        if faulty:
            return Answer("faulty frame", self.x, self.P, *nothing)
        scored = self.places.scores(d) if self.n.mode == "places" else None
        found, constrained = ([], False) if self.n.mode == "off" else self.memory.search(d, scored, self.places.cells)
        leverage = scored[1] if scored else None
        pose = pose if self.n.use_poses else None
        verdicts = [(each, *self.judge(each, pose)) for each in found]
        # [top eight] The first that is accepted, or the first of all with the reason of its rejection.
        verdicts = [each for each in verdicts if each[2] is not None] + verdicts
        candidate, reason, c, d_t = verdicts[0] if verdicts else (None, "no candidate", None, None)
        self.move(candidate, reason, c, pose)
        return Answer(reason, self.x, self.P, candidate, found, leverage, constrained, c, d_t)

    def move(self, candidate, reason, c, pose):
        """The sightings that are kept; then eq. (10) with the pose head's position, and with an accepted candidate."""
        n, here, forgotten = self.n, candidate and (self.stamp, candidate.p, pose), not self.recent(self.accepted)
        if reason in ("jumps", "far from belief"):
            self.dissent, self.dissenters = here, self.agreeing(here)
        if pose is not None:
            self.x, self.P = correct(self.x, self.P, pose, n.r_a)
        if c is not None:
            self.accepted, self.dissent, self.dissenters = here, None, 0
            if reason == "relocalized" or (forgotten and semi_axis(self.P) > n.lost):  # [again]
                self.start(candidate.p, n.tau_p)
            self.x, self.P = correct(self.x, self.P, candidate.p, loop_variance(c, n.r_l, n.r_min))

    def start(self, p, deviation):
        """[start] A position give or take a deviation, and an unknown velocity."""
        self.x = np.array([*p, 0.0, 0.0])
        self.P = np.diag([deviation**2, deviation**2, self.n.unknown_speed**2, self.n.unknown_speed**2])

    def predict(self, stamp):
        """x⁻ = Fx and P⁻ = FPFᵀ + Q."""
        n, gap, self.stamp = self.n, 0.0 if self.stamp is None else (stamp - self.stamp) / 1e9, stamp
        dt = min(gap, n.max_gap)
        F, Q = motion(dt), process_noise(dt, n.q_p, n.q_v, n.acceleration)
        self.x, self.P = F @ self.x, F @ self.P @ F.T + Q
        if gap > n.max_gap:  # [gaps]
            known = self.P[:2, :2]
            self.start(self.x[:2], n.unknown_speed * (gap - dt))
            self.P[:2, :2] += known

    def unlike(self, candidate):
        """Why a frame does not look enough like the candidate, if so: s_t, and [margin] our own."""
        n, limits = self.n, self.n.bounds
        if candidate.s < n.s_min:
            return "looks different"
        if limits and not (limits[:2] <= candidate.p).all() & (candidate.p <= limits[2:]).all():
            return "out of bounds"
        return "ambiguous" if n.min_margin and candidate.margin < n.min_margin else None

    def judge(self, candidate, pose):
        """Why, c_t if accepted and d_t if measured: looks, eq. (5), then continuity."""
        n, here = self.n, (self.stamp, candidate.p, pose)
        if unlike := self.unlike(candidate):
            return unlike, None, None
        against, slack = (self.x[:2], semi_axis(self.P)) if pose is None else (pose, 0.0)  # [no pose head]
        d = math.dist(candidate.p, against)  # eq. (5)
        c = confidence(candidate.s, d, n.tau_p, n.c_min)
        overruled = self.agreeing(here) >= n.recovery  # [recovery]
        if d > n.tau_p + slack:
            far = "far from belief" if pose is None else "far from apr"
            return ("relocalized", c, d) if overruled and pose is None else (far, None, d)
        if overruled or not self.recent(self.accepted) or self.agree(here, self.accepted):
            return "accepted", c, d
        return "jumps", None, d

    def agree(self, here, other):
        """[continuity] Whether two sightings lie no farther apart than the camera may have moved."""
        moved = self.n.max_speed * (here[0] - other[0]) / 1e9
        if here[2] is not None and other[2] is not None:
            moved = min(moved, math.dist(here[2], other[2]))
        return math.dist(here[1], other[1]) <= self.n.max_jump + moved

    def agreeing(self, here):
        """[recovery] Rejected sightings in a row that agree, this one among them."""
        return self.dissenters + 1 if self.recent(self.dissent) and self.agree(here, self.dissent) else 1

    def recent(self, sighting):
        """[recovery] Whether it has not expired."""
        return sighting is not None and self.stamp - sighting[0] <= self.n.expiry * 1e9

    def teaches(self, answer):
        """III-D, H: whether a frame's own estimate is learned; with H, support and margin are dual constraints."""
        n, a = self.n, answer.candidate
        sure = answer.c is not None and semi_axis(answer.P) <= min(n.label_axis, n.lost)
        return sure and (not n.H or (a.support >= n.label_support and a.margin >= n.label_margin))

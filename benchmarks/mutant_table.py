"""Plausible bugs, by what they touch and the tests that should notice: a snippet that stands once, and what it becomes.

A snippet is found wherever it stands, so code may move; where it is rewritten, so is its mutant. Tests are named
without folder and suffix, quickest first.
"""

Changes = list[tuple[str, str]]
SOURCE: list[tuple[str, str, Changes]] = [
    ("route filter", "test_filter", [
        ("self.on = (1.0 - START_OFF) * anywhere", "self.on = anywhere"),
        ("self._on.scale(1.0 - leaving)", "self._on.scale(1.0)"),
        ("else HALTED / 4 if step.saturated", "else HALTED * 4 if step.saturated"),
        ("told = np.where((step.metres < 0) == BACKWARDS", "told = np.where((step.metres < 0) != BACKWARDS"),
        ("self.reach = self.reach + REACH * metres", "self.reach = self.reach + metres"),
        ("back = self._arrive(returning * self.off)", "back = self._arrive(self.off)"),
        ("came * fresh) / np.maximum(whole, 1e-300)", "came * fresh)"),
        ("* self._on.sums + arriving + returned[1].columns", "* self._on.sums + returned[1].columns"),
        ("self._begun = 0.0\n        return float(np.log(total)", "return float(np.log(total)"),
        ("self.off = self.off * np.exp(-highest)", "self.off = self.off * 1.0"),
        ("step.seconds * self.route.speed > self._length", "step.seconds * self.route.speed < self._length"),
        ("out[max(k - 1, first)] += moved", "out[max(k - 1, 0)] += moved"),
        ("if saturated and off > 0.0:", "if saturated and off < 0.0:"),
        ("begin = start + (begin - start) % (stop - start)", "begin = start"),
        ("inside = min(begin + length, stop) - max(begin, start)", "inside = min(begin + length, stop) - begin"),
        ("slow, fast, part = here - span, there, 0, back, halt",
         "slow, fast, part = here, there + span, 0, back, halt"),
        ("spare[targets[link]] += share / count * mass[row]", "spare[targets[link]] += share * mass[row]"),
        ("lost += part * (1.0 - first[2])", "lost += part * first[2]"),
        ("back[other] += mass[place] * share[other] / whole", "back[other] += mass[place] * share[other]"),
        ("whole = share * mass[row, k]", "whole = mass[row, k]"),
        ("kept = np.flatnonzero(weights * (share * self.sums + columns.sum(axis=0)) > least)",
         "kept = np.flatnonzero(weights * share * self.sums > least)"),
        ("prior + (1.0 - REVERSING) * forwards", "prior + forwards"),
    ]),
    ("route filter", "test_belief_on_the_route", [
        ("near = self.share * np.exp(-0.5 * (squared - squared.min())",
         "near = self.share * np.exp(0.5 * (squared - squared.min())"),
        ("near / near.sum() + START_WRONG * self.share", "near / near.sum()"),
        ("total = better * self._on.total + self.p_off", "total = better * (self._on.total + self.p_off)"),
        ("best = int(np.argmax(masses >= ALIKE * masses.max()))",
         "best = int(np.argmin(masses >= ALIKE * masses.max()))"),
        ("np.repeat(off[places] / len(_COMPASS)", "np.repeat(off[places]"),
        ("reached = np.minimum(reach[places], extent)", "reached = np.maximum(reach[places], extent)"),
        ("np.where(np.hypot(*off.T) > radius, masses, 0.0)", "np.where(np.hypot(*off.T) < radius, masses, 0.0)"),
        ("np.log1p(-min(_HELD / placing.p_place, 0.9999))", "np.log1p(-min(_HELD * placing.p_place, 0.9999))"),
    ]),
    ("route filter", "test_known_turns", [
        ("percept.descriptor.copy(), percept.stamp, 0.0, 0.0",
         "percept.descriptor.copy(), percept.stamp, 0.0, self._metres"),
        ("if reckoning.doubts(spot, route.headings[around.find(found.peak)]):\n        return True",
         "if reckoning.doubts(spot, route.headings[around.find(found.peak)]):\n        return False"),
        ("return Turned(last=self.last)", "return Turned(self.radians, last=self.last)"),
    ]),
    ("route filter", "test_reckoning", [
        ("if self.doubted < _BELIEVED * self._radius:", "if self.doubted > _BELIEVED * self._radius:"),
        ("middle = self.heading + turn / 2.0", "middle = self.heading + turn"),
    ]),
    ("route filter", "test_between", [
        ("seen = (1.0 - t) * similarity[a] + t * similarity[b]",
         "seen = t * similarity[a] + (1.0 - t) * similarity[b]"),
        ("found[3] += likely * along * across", "found[3] += likely * along * along"),
        ("lift=1.0 / np.sqrt(chord)", "lift=np.sqrt(chord)"),
        ("owner = np.where(share <= _MIDDLE, before, after)", "owner = np.where(share <= _MIDDLE, after, before)"),
    ]),
    ("route tracker", "test_route_tracker", [
        ("innovation > self.placer.radius + belief.semi_axis", "innovation > self.placer.radius - belief.semi_axis"),
        ("covariance = placing.covariance / share", "covariance = placing.covariance * share"),
        ("self._expected = self._seen = 0.0\n        return seen if", "return seen if"),
        ("if placing.p_place <= placing.p_off_map:", "if placing.p_place > placing.p_off_map:"),
        ("and off <= self.placer.radius:\n                return Status.LOCALIZED",
         "and off > self.placer.radius:\n                return Status.LOCALIZED"),
        ("variance = (trust.variance + float(away) ** 2)", "variance = trust.variance"),
        ("similarity[each] + place[each] > similarity[best] + place[best]", "similarity[each] > similarity[best]"),
    ]),
    ("route tracker", "test_prior", [
        ("placing.p_place >= raise_certainty(self._certainty, share)", "placing.p_place >= self._certainty"),
    ]),
    ("route tracker", "test_set_back test_odometry", [
        ("return self._step(stamp, arrived) if len(self._older) == _STEPPED else placed", "return placed"),
        ("return value if self._views[which] < UNCHANGED else None", "return value"),
        ("placing = None if strange or recognition is None else self._placing", "placing = self._placing"),
    ]),
    ("route tracker", "test_standing", [
        ("score - max(elsewhere, lowest)", "score - lowest"),
    ]),
    ("evidence", "test_evidence", [
        ("= likely / (likely @ share)", "= likely / likely.sum()"),
        ("np.log(FLOOR + (1.0 - FLOOR) * _relate", "np.log(FLOOR + _relate"),
        ("compared.local[row] * (1.0 - away / reach)", "compared.local[row] * (1.0 + away / reach)"),
        ("self.likelihoods[row, column] += np.log(", "self.likelihoods[row, column] = np.log("),
    ]),
    ("evidence", "test_level", [
        ("return float(np.clip(odds, WORST, BEST).mean())", "return float(np.clip(-odds, WORST, BEST).mean())"),
    ]),
    ("evidence", "test_novelty", [
        ("bound = _STILL_STRANGE if self._strange else _STRANGE",
         "bound = _STRANGE if self._strange else _STILL_STRANGE"),
        ("if deviations[0] >= _UNMAPPED:", "if deviations[0] < _UNMAPPED:"),
        ("self._strange, self._strange_views, self._key = [], 0.0, None", "self._strange, self._key = [], None"),
    ]),
    ("evidence", "test_head", [
        ("self.variance += (squared - self.variance) / self.views", "self.variance += squared / self.views"),
        ("(AT_FIRST if first else ERRS_ALIKE)", "(ERRS_ALIKE if first else AT_FIRST)"),
        ("np.log(useless + (1.0 - useless) * likely / float(likely @ share))",
         "np.log(useless + (1.0 - useless) * likely)"),
    ]),
    ("evidence", "test_smoothing", [
        ("later.elsewhere) / np.maximum(predicted, 1e-300)", "later.elsewhere)"),
        ("chances[-1, -1] = 1.0 - returning", "chances[-1, -1] = returning"),
    ]),
    ("evidence", "test_place_evidence", [
        ("a ** (1 - _FOLLOWED) * b**_FOLLOWED", "a**_FOLLOWED * b ** (1 - _FOLLOWED)"),
        ("if certain else ((1, elsewhere),)", "if certain else ((0, here),)"),
        ("seen = np.minimum(here, right)", "seen = here"),
        ("share = min(max(change - self._seen, 0.0), 1.0)", "share = min(max(change, 0.0), 1.0)"),
        ("where[each] >= possible * highest", "where[each] <= possible * highest"),
        ("evidence = new * weigh(", "evidence = weigh("),
        ("weigh_map(new * self.levels.weigh(here, wrong))", "weigh_map(-new * self.levels.weigh(here, wrong))"),
        ("if distance > self.radius or seen:", "if distance > self.radius:"),
    ]),
    ("search", "test_search", [
        ("max(wanted, RANKED, self.support_matches)", "wanted"),
        ("margin=score - float(max(matches", "margin=float(max(matches"),
        ("allowed is not None, comparison, modes)", "allowed is None, comparison, modes)"),
        ("unseen = ~np.isin(memory.places[memory.probes], allowed)",
         "unseen = np.isin(memory.places[memory.probes], allowed)"),
        ("        away[order[:rank]] = False\n", ""),
        ("-self.clip, self.clip)", "0.0, self.clip)"),
        ("self.trust(scores.leverage) >= HALF", "self.trust(scores.leverage) < HALF"),
        ("likely[here].sum() > BEYOND_DOUBT * likely.sum()", "likely[here].sum() < BEYOND_DOUBT * likely.sum()"),
        ("matches.scores + np.nan_to_num(local[matches.rows])", "matches.scores - np.nan_to_num(local[matches.rows])"),
    ]),
    ("search", "test_search_margin", [
        ("probed += term[memory.places[memory.probes]]", "probed += term[memory.places[: len(probed)]]"),
        ("np.maximum(strengths[: len(references)] - usual, 0.0)", "np.maximum(strengths[: len(references)], 0.0)"),
    ]),
    ("search", "test_memory", [
        ("np.lexsort((arrays[\"frames\"], arrays[\"sequences\"]))",
         "np.lexsort((arrays[\"sequences\"], arrays[\"frames\"]))"),
    ]),
    ("search", "test_highest", [
        ("np.partition(highest, blocks - count)[blocks - count]", "np.partition(highest, blocks - 1)[blocks - 1]"),
        ("np.partition(values, -count)[-count] if", "np.partition(values, -1)[-1] if"),
        ("np.argsort(-values[reached], kind=\"stable\")", "np.argsort(values[reached], kind=\"stable\")"),
    ]),
    ("recall", "test_ranking", [
        ("(column >= 0) & correct_candidates(", "correct_candidates("),
        ("best = np.argpartition(-cosines, count - 1, axis=1)", "best = np.argpartition(cosines, count - 1, axis=1)"),
    ]),
    ("condition", "test_condition", [
        ("Shared(self._mean, MOST * self._views / (self._views + FEW))",
         "Shared(self._mean, MOST * FEW / (self._views + FEW))"),
        ("(self.mean - mapped)\n        length = float(np", "(self.mean + mapped)\n        length = float(np"),
        ("not 0 <= stamp - self._stamp <= ANOTHER_DRIVE", "not 0 <= stamp - self._stamp"),
        ("mean + share / self._views * (descriptor - mean)", "mean + 1.0 / self._views * (descriptor - mean)"),
        ("if estimate.route.new_view else 0.0\n            self.note(", "\n            self.note("),
        ("return descriptor - self.weight * self.mean", "return descriptor - self.mean"),
        ("np.sqrt(1.0 - 2.0 * weight * sharing +", "np.sqrt(1.0 + 2.0 * weight * sharing +"),
        ("(float(arrays[\"views\"]), int(arrays[\"stamp\"])) if arrays", "(0.0, int(arrays[\"stamp\"])) if arrays"),
    ]),
    ("state", "test_merging_again", [
        ("share = 1 - sum(known is None for _, _, known in parts)",
         "share = 1 + sum(known is None for _, _, known in parts)"),
        ("shares = [1.0 - len(states) + len(taken)", "shares = [1.0 + len(taken)"),
        ("            A -= gone\n", "            A += gone\n"),
        (".copy()\n        self._count -= 1", ".copy()"),
        ("[place : self._count - 1] = self._names[place + 1 : self._count]",
         "[: self._count - 1] = self._names[1 : self._count]"),
        ("_SHARES = (1.0, 1.0, -1.0)", "_SHARES = (1.0, 1.0, 1.0)"),
    ]),
    ("state", "test_sums", [
        ("Q[:, part.places] += part.cross", "Q[:, part.places] = part.cross"),
    ]),
    ("state", "test_grid", [
        ("(column + i, row + j) for i in", "(column + i, row + i) for i in"),
    ]),
    ("state", "test_localizer_states test_localizer", [
        ("self._drive.restore(take(arrays, \"drive.\"))", "self._drive.restore({})"),
        ("notes.map != environment.digest or system.places", "notes.map != environment.digest and system.places"),
        ("retiring=path.with_name(\"state.npz\")", "retiring=path.with_name(\"stale.npz\")"),
    ]),
    ("state", "test_labelled_drive", [
        ("if learned := self.tracker.learned():", "if learned := {}:"),
        ("self._lessons.restore(take(arrays, \"lessons.\"))", "self._lessons.restore({})"),
    ]),
    ("state", "test_labels", [
        ("ripe = len(self._waiting) - self._labels.delay", "ripe = len(self._waiting) - self._labels.delay - 1"),
    ]),
    ("state", "test_guard", [
        ("self.tally, self.passed = Tally(), False", "self.passed = False"),
        ("step, most = _AGAINST if evidence < 0.0 else _FOR", "step, most = _FOR if evidence < 0.0 else _AGAINST"),
    ]),
    ("state", "test_balance", [
        ("np.lexsort((self._turn, self._heard[self._mapped]))", "np.lexsort((self._heard[self._mapped], self._turn))"),
    ]),
    ("state", "test_place test_localizer_states", [
        ("self.levels.views = np.array(arrays[\"level_views\"])", "self.levels.views = np.zeros(2)"),
        ("self._expected, self._seen = (float(value) for value in arrays[\"standing\"])",
         "self._expected = self._seen = 0.0"),
    ]),
    ("state", "test_state_command", [
        ("self._last = _hash(last, b\"turned\")", "self._last = last"),
    ]),
    ("journal", "test_journal_segments", [
        ("if newest.size > newest.end:", "if newest.size < newest.end:"),
        ("self.lessons <= self._most or number >= self.saved", "self.lessons <= self._most or number > self.saved"),
        ("held = self.header.lessons + 1 if", "held = self.header.lessons if"),
        ("or after.header.last != last or not alike", "or not alike"),
    ]),
    ("journal", "test_journal_files", [
        ("self._end += len(data)", "self._end = len(data)"),
        ("if zlib.crc32(payload) != checksum:", "if zlib.crc32(payload) != checksum and not payload:"),
        ("if any(rest):\n            return False", "if not any(rest):\n            return False"),
    ]),
    ("journal", "test_journal_records", [
        ("astype(_FEWEST_BYTES if short else _ALL_BYTES)", "astype(_FEWEST_BYTES)"),
    ]),
    ("journal", "test_journal_writer", [
        ("room = pending + AT_ONCE <= self._lose_at_most", "room = pending <= self._lose_at_most"),
        ("if last == self._last:\n                self._moment = None",
         "if self._last:\n                self._moment = None"),
        ("return self._appender.unsaved >= 2 * self._most", "return False"),
    ]),
    ("journal", "test_journal_redo", [
        ("            return number + 1\n", "            return number\n"),
        ("localizer.relearn(lesson, entry.kind is Kind.LABEL)",
         "localizer.relearn(lesson, entry.kind is not Kind.LABEL)"),
        ("if localizer.classifier.ledger.holds(name)]", "]"),
    ]),
    ("journal", "test_journal_moment", [
        ("position is not None and position >= begin", "position is not None"),
    ]),
    ("journal", "test_state_command", [
        ("void = names[names.index(first.name) :]", "void = names[names.index(first.name) + 1 :]"),
        ("if entry.name not in copied and result", "if result"),
    ]),
    ("places", "test_analytic", [
        ("self._absorb(rows, targets, weights, LEARN", "self._absorb(rows, targets, weights, _UNLEARN"),
        ("roots[:count] = np.sqrt(weights[block])", "roots[:count] = weights[block]"),
        ("entry -= L[a, r] * L[b, r]", "entry += L[a, r] * L[b, r]"),
    ]),
    ("gpu", "test_ridge_contract", [
        ("self._signs * self._waiting, alpha=-1)", "self._signs * self._waiting, alpha=1)"),
        ("self._gains -= (rows @ self._waiting.T", "self._gains += (rows @ self._waiting.T"),
        ("_slot == UPDATES:\n            self._flush()", "_slot == UPDATES:\n            self._slot = 0"),
    ]),
    ("gpu", "test_backend", [
        ("self._K = (self._K + self._K.T) / 2", "self._K = self._K + self._K.T"),
        ("not np.array_equal(last.view, view)", "len(last.view) != len(view)"),
    ]),
    ("gpu", "test_encoder", [
        ("rows.numpy()[:count] for rows", "rows.numpy() for rows"),
        ("lowered.encoder = _Lowered(lowered.encoder, dtype)", "lowered.encoder.float()"),
    ]),
    ("gpu", "test_preparation", [
        ("upper * self.down[0] + lower * self.down[1]", "upper * self.down[1] + lower * self.down[0]"),
        ("* (self._count * GRAYS)", "* GRAYS"),
    ]),
    ("gpu", "test_providers", [
        ("if TENSORRT in available and device.startswith(\"cuda\")", "if TENSORRT in available"),
    ]),
    ("places", "test_attenuation", [
        ("self.bound + self.gain", "self.bound - self.gain"),
        ("min(max(raw, self.floor), 1.0)", "max(min(raw, self.floor), 1.0)"),
    ]),
    ("places", "test_unscented", [
        ("descriptor + side, descriptor - side", "descriptor + side, descriptor + side"),
        ("np.sqrt(seen / (seen + 1))", "np.sqrt((seen + 1) / seen)"),
    ]),
    ("places", "test_mixture", [
        ("density = -0.5 * (distances + terms.", "density = 0.5 * (distances + terms."),
        ("before * after - self._variances", "before * before - self._variances"),
    ]),
    ("places", "test_grid", [
        ("return cls(positions[0] - cell / 2, cell)", "return cls(positions[0], cell)"),
    ]),
    ("gates", "test_gates", [
        ("innovation > self.max_innovation + slack", "innovation > self.max_innovation - slack"),
        ("1.0 - innovation / self.max_innovation", "1.0 + innovation / self.max_innovation"),
        ("moved = min(moved,", "moved = max(moved,"),
        ("rejections[0] if rejections", "rejections[-1] if rejections"),
        ("<= self.max_jump + moved", "<= self.max_jump - moved"),
    ]),
    ("fusion", "test_kalman", [
        ("missing = (measurement - multiply", "missing = (measurement + multiply"),
        ("kept = np.eye(len(mean)) - multiply(L, H)", "kept = np.eye(len(mean)) + multiply(L, H)"),
        ("kept.T) + multiply(multiply(L, R), L.T)", "kept.T) - multiply(multiply(L, R), L.T)"),
    ]),
    ("fusion", "test_capf", [
        ("q * dt**2 / 2, q * dt**2 / 2", "-q * dt**2 / 2, -q * dt**2 / 2"),
        ("/ max(confidence, _LEAST_CONFIDENCE)", "* max(confidence, _LEAST_CONFIDENCE)"),
        ("belief.covariance[:2, :2] + self._reference", "belief.covariance[:2, :2] - self._reference"),
        ("age <= self.correction_lifetime and distance", "age <= self.correction_lifetime or distance"),
    ]),
    ("fusion", "test_localizer_states test_localizer", [
        ("belief = self._fusion.correct_apr(belief, seen.position)\n        if candidate",
         "pass\n        if candidate"),
    ]),
]  # fmt: skip

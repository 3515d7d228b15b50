"""Plausible bugs, by what they touch and the tests that should notice: a snippet that stands once, and what it becomes.

A snippet is found wherever it stands, so code may move; where it is rewritten, so is its mutant. Tests are named
without folder and suffix, quickest first.
"""

Changes = list[tuple[str, str]]
SOURCE: list[tuple[str, str, Changes]] = [
    ("route filter", "test_route_filter", [
        ("left, back = (float(-np.expm1(-rate * motion.metres)) for rate in (model.leave, model.come_back))",
         "left, back = (float(-np.expm1(-rate * motion.metres)) for rate in (model.come_back, model.leave))"),
        ("self._null.advance(self._null_grid, ways,", "self._null.advance(self._grid, ways,"),
        ("predicted, 0.0) * expected", "predicted, 0.0)"),
        ("off = max(before + self.off - predicted, 0.0)", "off = self.off - returned"),
        ("self.model.odometry_error * abs(motion.told) / self.route.cell",
         "self.model.odometry_error * motion.told / self.route.cell"),
        ("likely = where[near] * np.exp(seen - seen.max())", "likely = where[near] * 1.0"),
        ("np.eye(2) * (self.model.beside * route.spacing) ** 2", "np.eye(2) * self.model.beside * route.spacing"),
        ("around = np.union1d(route.before[near], route.after[near])", "around = np.unique(route.before[near])"),
        ("weighed += np.bincount(route.after[cells], where * share, len(route.rows))",
         "weighed += np.bincount(route.after[cells], where, len(route.rows))"),
        ("believed = (1.0 - wrong) * near / near.sum() +", "believed = near / near.sum() +"),
        ("self.off = wrong**2", "self.off = wrong"),
        ("np.where(speeds < 0, backwards * usual, usual)", "usual"),
        ("_make_prior(model, 0.0)", "_make_prior(model, model.backwards)"),
        ("np.arange(block)[::-1]).ravel()", "np.arange(block)).ravel()"),
        ("(1.0 - none if motion.new_view else none)", "none"),
        ("if motion.told is not None or motion.seconds == 0.0:", "if motion.seconds == 0.0:"),
        ("self._on.scale(1.0 - self.off)", "self._on.scale(1.0)"),
        ("if speeds[k] >= 0:\n            rates[k, k + 1]", "if speeds[k] > 0:\n            rates[k, k + 1]"),
        ("return np.where(standing, 0.0, low), np.where(standing, 0.0, high)", "return low, high"),
        ("self._now.totals < change.least * self.total", "self._now.totals < 1e4 * change.least * self.total"),
        ("order = rng.permutation(blocks)[: int(np.ceil(share * blocks))]", "order = rng.permutation(blocks)"),
        ("self._null.restore(**take(arrays, \"null.\"))", "self._null.restore(**take(arrays, \"on.\"))"),
        ("(np.diff(tiles) <= 0).any()):", "(np.diff(tiles) < -9).any()):"),
    ]),
    ("motion", "test_route_filter", [
        ("at = nearest[k] + j\n            if width > 1e-9:", "at = nearest[k] - j\n            if width > 1e-9:"),
        ("return 0.5 * (x + 1.0) ** 2 if x <= 0.0", "return 0.5 * (x + 1.0) if x <= 0.0"),
        ("if closed and at == count:\n                    at = 0",
         "if closed and at == count:\n                    at = 1"),
        ("elif at < 0:\n                at, done = 0, -at", "elif at < 0:\n                at = 0"),
        ("new.totals.sum() / seen", "new.totals.sum() / predicted"),
        ("mixed[k, cells:] = 0.0", "mixed[k, size:] = 0.0"),
        ("share = change.kept * change.speeds[k, other]", "share = change.kept * change.speeds[other, k]"),
        ("read = (1.0 - share) * weights.evidence[grid.before[first + i]]",
         "read = share * weights.evidence[grid.before[first + i]]"),
        ("if a > b:  # around the end of a loop", "if a > b and not closed:"),
    ]),
    ("route", "test_mapped_route", [
        ("and float(begins @ ends) > 0", "and float(begins @ ends) < 0"),
        ("np.minimum(moved, _FARTHEST * spacing)", "moved"),
        ("share += np.bincount(after[used], between[used], len(rows))",
         "share += np.bincount(before[used], between[used], len(rows))"),
        ("np.column_stack([before, after % len(way), np.clip(", "np.column_stack([before, before, np.clip("),
        ("self.used[np.sort(np.array(", "self.used[np.array(np.array("),
        ("metres + since, count + 1, 0.0", "metres + step, count + 1, 0.0"),
        ("return max(float(np.median(change)), 1e-6)", "return max(float(np.max(change)), 1e-6)"),
    ]),
    ("evidence", "test_evidence", [
        ("/ float(likely @ route.share) * likely", "/ float(likely.mean()) * likely"),
        ("model.blind + (1.0 - model.blind)", "model.blind + 1.0"),
        ("local[row] * (1.0 - away / reach)", "local[row] * (1.0 + away / reach)"),
        ("spread[seen] = local[seen]", "spread[seen] = 0.0"),
        ("score - max(elsewhere, lowest)", "score - lowest"),
    ]),
    ("proof", "test_foreign_drives", [
        ("self.nats += gain", "self.nats += abs(gain)"),
        ("self.held = self.nats >= (model.proof_kept", "self.held = self.nats >= (-1e9"),
    ]),
    ("proof", "test_route_tracker", [
        ("exp(-min(self.moved, model.view) / model.proof_length)", "exp(-min(self.moved, model.view))"),
        ("> reach:\n                self.nats = 0.0", "> reach:\n                self.nats += 0.0"),
        ("(model.proof_kept if self.held else model.proof)", "model.proof"),
    ]),
    ("reckoning", "test_reckoning", [
        ("if self.doubted < self._model.believed * self._radius:",
         "if self.doubted > self._model.believed * self._radius:"),
        ("middle = self.heading + turn / 2.0", "middle = self.heading + turn"),
        ("self.spread += self._driven * min(model.drift + self.doubt, 1.0)",
         "self.spread += self._driven * model.drift"),
        ("return Turned(last=self.last)", "return Turned(self.radians, last=self.last)"),
        ("self.doubt = self._model.unknown_heading  # it was", "self.doubt += 0.0  # it was"),
    ]),
    ("reckoning", "test_known_turns", [
        ("self._seen, self._metres = percept.stamp, 0.0", "self._seen = percept.stamp"),
        ("self._doubted = self._reckoning.doubts(peak.position, headings[peak.near])", "self._doubted = False"),
        ("seen = None if percept.shift is None or isnan(gain) else gain * percept.shift",
         "seen = None if percept.shift is None or isnan(gain) else percept.shift"),
    ]),
    ("route tracker", "test_route_tracker", [
        ("held = min(_HELD / peak.probability, _MOST_HELD)", "held = 1.0 - _MOST_HELD"),
        ("[peak.position, speed * onward]", "[peak.position, -speed * onward]"),
        ("metres = self.filter.pace * seconds if told is None else abs(told)", "metres = self.route.speed * seconds"),
        ("self._begin()\n        self.filter.start_around(position, deviation)",
         "self._begin()\n        self.filter.restart()"),
        ("self._key = percept.descriptor.copy()", "self._key = None"),
        ("self._seen = int(arrays[\"seen\"]) if \"seen\" in arrays else None", "self._seen = None"),
        ("if recognition.comparison is None or distance > self.radius or seen:",
         "if recognition.comparison is None or seen:"),
    ]),
    ("route tracker", "test_pose_head", [
        ("if head is not None and proven and motion.new_view:", "if head is not None and motion.new_view:"),
        ("predicted, motion.power) if belief.semi_axis > self.radius else None", "predicted, motion.power)"),
        ("* (self.variance + away**2) /", "* self.variance /"),
        ("self._fusion.status(self.belief, led is not None, None)", "self._fusion.status(self.belief, False, None)"),
    ]),
    ("route tracker", "test_sensor_trust", [
        ("self.variance += (squared - self.variance) / self.views", "self.variance += squared / self.views"),
        ("return value if self._views[which] < self._most else None", "return value"),
        ("self._views[which] = self._most if self._views[which] < 0 else 0", "self._views[which] = 0"),
    ]),
    ("route tracker", "test_set_back test_trackers", [
        ("return self._step(stamp, arrived) if len(self._older) == _STEPPED else placed", "return placed"),
        ("Reason.REPEATED_STAMP if repeated else Reason.OLDER_STAMP", "Reason.OLDER_STAMP"),
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
    ("state", "test_localizer_states", [
        ("for name in (\"anchor\", \"key\", \"reckoned\")", "for name in (\"anchor\", \"key\", \"reckon\")"),
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

"""The package and its second version along the same frames, and what each of them says."""

from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt

import jaxtyping
import numpy as np

import second_version
from made_up import car_fusion, paper_tracking
from tmapr.config import changed
from tmapr.reference import measure_reference
from tmapr.system import System, build, make_map
from tmapr.types import Recognition

EXACT = {"rtol": 1e-9, "atol": 1e-9}
"""Both sides are float64 on numbers up to 1e4: dense products and recursions over triangles differ by 1e-12 there."""


def small_system(**values):
    """The paper's method in few dimensions; `__` stands for the dot of a path.

    Few dimensions are soon known: at λ = 0.1 every frame would be familiar, and trust would never be in doubt.
    """
    few = {"places.projection.dimension": 48, "places.mixture.dimension": 8, "places.ridge": 1.0}
    given = {path.replace("__", "."): value for path, value in values.items()}
    paper = System(tracking=paper_tracking(min_similarity=0.7), fusion=car_fusion())
    return changed(paper, few | given)


def fitted(system, recording):
    """The settings with what they leave to the recording that is mapped."""
    stamps = np.array([percept.stamp for percept in recording.percepts])
    reference = measure_reference([np.arange(len(stamps))], recording.truth, stamps)
    gates, fusion, labels = (each.fit(reference) for each in (system.tracking.gates, system.fusion, system.labels))
    radius = system.retrieval.support_radius or reference.place
    return changed(
        system, {"tracking.gates": gates, "fusion": fusion, "labels": labels, "retrieval.support_radius": radius}
    )


def numbers_of(system):
    """The settings in the second version's words; derived weights are derived again."""
    places, retrieval, gates = system.places, system.retrieval, system.tracking.gates
    fusion, labels = system.fusion, system.labels
    center, side = places.unscented.center_weight, places.unscented.side_share
    minimax = places.attenuation.mode == "minimax"
    return second_version.Numbers(
        g=places.cell,
        lam=places.ridge,
        U="unscented" in places.use,
        G="mixture" in places.use,
        H="attenuation" in places.use,
        w_mean=(center, (1 - center) / 2, (1 - center) / 2),
        w_update=(1.0, side, side),
        w_alone=places.weight,
        spread=places.unscented.spread,
        on_sphere=places.unscented.on_sphere,
        components=places.mixture.components,
        prior_count=places.mixture.prior_count,
        least_variance=places.mixture.floor,
        max_count=places.mixture.max_count,
        novelty=places.mixture.novelty,
        gamma=places.attenuation.bound,
        eta=places.attenuation.gain,
        w_min=places.attenuation.floor,
        level=places.attenuation.level if minimax else None,
        mode=retrieval.mode,
        candidates=retrieval.candidates,
        best_places=retrieval.best_places,
        class_weight=retrieval.class_weight,
        likelihood_weight=retrieval.likelihood_weight,
        likelihood_clip=retrieval.clip,
        grouped=retrieval.grouped,
        trusted_leverage=retrieval.trusted_leverage,
        steepness=retrieval.steepness,
        support_matches=retrieval.support_matches,
        radius=retrieval.support_radius,
        probes=retrieval.probes,
        s_min=gates.min_similarity,
        bounds=gates.bounds,
        min_margin=gates.min_margin,
        tau_p=gates.max_innovation,
        c_min=gates.confidence_floor,
        max_jump=gates.max_jump,
        max_speed=gates.max_speed,
        expiry=gates.expiry,
        recovery=gates.recovery,
        use_poses=fusion.apr,
        q_p=fusion.position_noise,
        q_v=fusion.velocity_noise,
        acceleration=fusion.noise == "acceleration",
        r_a=fusion.apr_variance,
        r_l=fusion.correction_variance,
        r_min=fusion.min_correction_variance,
        unknown_speed=fusion.initial_speed,
        max_gap=fusion.max_gap,
        lost=fusion.max_semi_axis,
        label_axis=labels.max_semi_axis,
        label_support=labels.min_support,
        label_margin=labels.min_margin,
    )


def lift_of(projection, descriptors):
    """How d becomes z, with the lift's bytes laid out as one matrix: right for at most 512 columns."""
    width, dimension = descriptors.shape[1], projection.dimension
    if projection.kind == "identity":
        return lambda rows: rows
    if projection.kind == "pca":
        return reduction_of(descriptors, dimension)
    raw = np.random.PCG64(projection.seed).random_raw(width * dimension // 8).astype("<u8")
    entries = raw.view(np.int8).reshape(width, dimension) + 0.5
    R = entries * sqrt(2 / dimension / ((256**2 - 1) / 12))
    return lambda rows: np.maximum(rows @ R, 0.0)


def reduction_of(descriptors, count):
    """Onto the leading eigenvectors of the reference, scaled so that ‖·‖² averages 1; their signs do not matter."""
    mean = descriptors.mean(axis=0)
    values, vectors = np.linalg.eigh((descriptors - mean).T @ (descriptors - mean) / len(descriptors))
    axes = vectors[:, -count:] / sqrt(values[-count:].sum())
    return lambda rows: (rows - mean) @ axes


def second_localizer(system, reference, **departing):
    """The second version on the same map."""
    numbers = numbers_of(fitted(system, reference))
    assert departing.keys() <= vars(second_version.Numbers).keys()
    vars(numbers).update(departing)
    looks = np.array([percept.descriptor for percept in reference.percepts])
    lift = lift_of(system.places.projection, looks)
    reduce = reduction_of(looks, system.places.mixture.dimension)
    return second_version.Localizer(numbers, looks, reference.truth, lift, reduce)


@contextmanager
def unchecked():
    """Shapes are checked in every other test; along a stream that would take three quarters of the time."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@dataclass
class Told:
    """What one of both said, frame by frame or lesson by lesson."""

    reasons: list
    references: list
    looks: list
    verdicts: list
    means: list
    covariances: list
    lessons: list
    classifier: tuple


def follow(system, make_stream):
    """Both along the same frames, learning the same ones; what each of them said."""
    with unchecked():
        return _follow(system, make_stream())


def _follow(system, stream):
    ours = build(system, make_map(system, stream.reference))
    second = second_localizer(system, stream.reference)
    told, again = (Told([], [], [], [], [], [], [], ()) for _ in range(2))
    frames = zip(stream.percepts, stream.truth, stream.taught, strict=True)
    for percept, truth, taught in frames:
        pose, look, faulty = percept.position, percept.descriptor, is_faulty(percept)
        estimate, answer = ours.observe(percept), second.observe(percept.stamp, look, pose, faulty)
        note_ours(told, estimate)
        note_second(again, answer)
        if system.labels.mode == "fused":
            told.lessons += [each.place for each in ours.teach(estimate)]
            again.lessons += [second.places.learn(look, answer.x[:2])[0]] if second.teaches(answer) else []
        elif taught and not faulty:
            told.lessons.append(ours.learn(percept, truth).place)
            again.lessons.append(second.places.learn(look, truth)[0])
    told.classifier = ours.classifier.ridge.covariance, ours.classifier.ridge.weights
    again.classifier = second.places.K, second.places.W
    return told, again


def is_faulty(percept):
    """Whether a frame cannot be used: what perception says of it, or numbers that are none."""
    pose = () if percept.position is None else percept.position
    return percept.fault is not None or not np.isfinite([*percept.descriptor, *pose]).all()


def note_ours(told, estimate):
    recognition, verdict = estimate.recognition or Recognition(), estimate.verdict
    told.reasons.append(verdict.reason.value)
    told.references.append([(each.reference, each.place) for each in recognition.candidates])
    leverage = [-1.0 if recognition.leverage is None else recognition.leverage, float(recognition.constrained)]
    found = ([each.similarity, each.score, each.support, each.margin] for each in recognition.candidates)
    told.looks += [leverage, *found]
    told.verdicts.append([verdict.confidence, verdict.innovation])
    told.means.append(estimate.belief.mean)
    told.covariances.append(estimate.belief.covariance)


def note_second(told, answer):
    told.reasons.append(answer.reason)
    told.references.append([(each.reference, each.place) for each in answer.found])
    leverage = [-1.0 if answer.leverage is None else answer.leverage, float(answer.constrained)]
    told.looks += [leverage, *([each.s, each.score, each.support, each.margin] for each in answer.found)]
    told.verdicts.append([answer.c, answer.d])
    told.means.append(answer.x)
    told.covariances.append(answer.P)

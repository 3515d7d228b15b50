"""Metrics, scraped over HTTP and parsed by Prometheus' own parser."""

import resource
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from answered import HEALTH, TIMINGS, say
from tmapr.exceptions import InputError
from tmapr.geodesy import LOCAL_FRAME
from tmapr.live.outputs.metrics import MetricsSink
from tmapr.types import Reason, Status


@pytest.fixture
def sink(scene):
    served = MetricsSink(0)
    served.begin(scene)
    yield served
    served.close()


def scrape(sink):
    """Every sample by its name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{sink.port}/metrics", timeout=10) as answered:
        text = answered.read().decode()
    samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples[sample.name, *sample.labels.values()] = sample.value
    return samples


def test_frames_are_counted_by_status_and_reason(sink, answers):
    for answer in answers:
        sink.take(answer)
    sink.take(say(answers[0], status=Status.LOST, reason=Reason.OFF_MAP))
    found = scrape(sink)
    for status in Status:
        told = sum(answer.estimate.status is status for answer in answers) + (status is Status.LOST)
        assert found["tmapr_frames_total", str(status)] == told
    assert found["tmapr_verdicts_total", "off the map"] == 1
    assert found["tmapr_verdicts_total", "accepted"] == len(answers)
    assert found["tmapr_verdicts_total", "jumps"] == 0


def test_latencies_are_histograms_by_part(sink, answers):
    for answer in answers[:10]:
        sink.take(answer)
    found = scrape(sink)
    for part, seconds in TIMINGS._asdict().items():
        assert found["tmapr_latency_seconds_count", part] == 10
        assert found["tmapr_latency_seconds_sum", part] == pytest.approx(10 * seconds)
    buckets = {le: found["tmapr_latency_seconds_bucket", le, "perception"] for le in ("0.02", "0.05", "+Inf")}
    assert buckets == {"0.02": 0, "0.05": 10, "+Inf": 10}


def test_the_last_estimate_is_shown(sink, answers):
    for answer in answers:
        sink.take(answer)
    found, estimate = scrape(sink), answers[-1].estimate
    assert [found["tmapr_position_metres", axis] for axis in "xy"] == estimate.position.tolist()
    assert (found["tmapr_position_degrees", "lon"], found["tmapr_position_degrees", "lat"]) == estimate.lon_lat
    assert found[("tmapr_semi_axis_metres",)] == estimate.belief.semi_axis
    assert found[("tmapr_similarity_count",)] == len(answers)
    assert found[("tmapr_similarity_sum",)] == pytest.approx(
        sum(each.estimate.candidate.similarity for each in answers)
    )


def test_a_map_without_degrees_shows_none(sink, answers):
    sink.take(say(answers[0], frame=LOCAL_FRAME))
    assert not any(name == "tmapr_position_degrees" for name, *_ in scrape(sink))


def test_seconds_since_localized_run_until_a_frame_is(sink, answers):
    sink.take(say(answers[0], status=Status.LOST))
    first, second = (scrape(sink)[("tmapr_seconds_since_localized",)] for _ in range(2))
    assert 0 < first < second
    sink.take(say(answers[0], status=Status.LOCALIZED))
    assert scrape(sink)[("tmapr_seconds_since_localized",)] < second


def test_parts_are_as_they_were_reported_last(sink):
    assert scrape(sink)[("tmapr_dropped_total",)] == 0
    sink.report(HEALTH)
    found = scrape(sink)
    told = {name: found[(f"tmapr_{name}_total",)] for name in ("taken", "answered", "dropped", "lessons", "rollbacks")}
    assert told == {"taken": 120, "answered": 115, "dropped": 5, "lessons": 7, "rollbacks": 1}
    assert found["tmapr_part_dropped_total", "viewer"] == 80
    assert [found["tmapr_part_late", part.name] for part in HEALTH.parts] == [0, 0, 1]
    assert found["tmapr_part_busy_seconds", "viewer"] == 9.5


def test_the_process_and_the_drive_are_named(sink, scene):
    found = scrape(sink)
    assert found["tmapr_drive_info", scene.map_folder.name, "night"] == 1
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    assert found[("process_resident_memory_bytes",)] == pytest.approx(pages * resource.getpagesize(), rel=0.2)


def test_only_this_machine_can_ask_unless_it_is_told_otherwise(sink):
    # An address of the same machine, which a server that listens everywhere would answer to.
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", sink.port), timeout=10)


def test_a_port_that_is_taken_is_refused_in_a_line(scene, sink):
    with pytest.raises(InputError, match=rf"metrics: 127.0.0.1:{sink.port} cannot be listened on \(.*\); give another"):
        MetricsSink(sink.port).begin(scene)


@pytest.mark.parametrize(("port", "address"), [(70_000, "127.0.0.1"), (0, "no.such.host.invalid"), (-1, "127.0.0.1")])
def test_an_address_that_is_none_is_refused_in_a_line(scene, port, address):
    with pytest.raises(InputError, match="cannot be listened on"):
        MetricsSink(port, address).begin(scene)


def test_a_scraper_that_hangs_holds_up_neither_others_nor_the_end(scene, answers):
    served = MetricsSink(0)
    served.begin(scene)
    threads = threading.active_count()
    with socket.create_connection(("127.0.0.1", served.port)) as silent:
        silent.sendall(b"GET /metrics HTTP/1.1\r\n")  # and nothing more
        served.take(answers[0])
        assert scrape(served)["tmapr_frames_total", str(answers[0].estimate.status)] == 1
        served.close()
    assert threading.active_count() <= threads

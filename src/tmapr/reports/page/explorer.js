// Shows the frame of a run that is pointed at.
document.querySelectorAll(".explorer").forEach(explore);

function explore(explorer) {
  const { frames, cursor, belief } = JSON.parse(explorer.querySelector("script").textContent);
  const slider = explorer.querySelector("input");
  const card = explorer.querySelector(".card");
  const [map, strip] = [".map", ".strip"].map((kind) => explorer.querySelector(`${kind} .plot`));
  const believe = belief ? showBelief(explorer, map, belief) : () => {};
  const show = (number) => {
    const frame = frames[number];
    slider.value = number;
    slider.setAttribute("aria-valuetext", `${frame.title}: ${frame.verdict}`);
    mark(map, placesOn(frame), frame.fused);
    mark(strip, momentOf(frame, cursor), [frame.moment, 0]);
    fill(card, frame);
    believe(number, frame.moment);
  };
  const onMap = (at) => nearest(frames, (frame) => Math.min(apart(at, frame.fused), apart(at, frame.truth)));
  const onStrip = (at) => nearest(frames, (frame) => Math.abs(at[0] - frame.moment));
  point(map, slider, (at) => show(onMap(at)));
  explorer.querySelectorAll(".strip .plot").forEach((plot) => point(plot, slider, (at) => show(onStrip(at))));
  slider.addEventListener("input", () => show(Number(slider.value)));
  explorer.querySelectorAll("[data-switch]").forEach((key) => letSwitch(key, key.closest("figure")));
  card.hidden = slider.parentElement.hidden = false;
  show(0);
}

function placesOn(frame) {
  const from = frame.truth ?? frame.fused;
  return {
    here: spot(frame.fused),
    matched: spot(frame.match),
    gap: line(frame.truth, frame.fused),
    link: line(from, frame.match),
  };
}

function momentOf(frame, [top, bottom]) {
  const error = frame.error === null ? null : [frame.moment, frame.error];
  return { here: spot(error), cursor: line([frame.moment, top], [frame.moment, bottom]) };
}

// The references that are likely: bars along the route, whose heights are roots of probabilities, and dots on the map,
// whose areas then go by the probabilities themselves.
function showBelief(explorer, map, { references, views, frames, span, cursor }) {
  const [strip, timeline] = [".route", ".certainty"].map((kind) => explorer.querySelector(`${kind} .plot`));
  const shares = explorer.querySelectorAll(".shares label");
  const [top, bottom] = span;
  explorer.querySelector(".belief").hidden = false;
  return (number, moment) => {
    const { view, truth, told } = frames[number];
    const likely = inPairs(views[view]).map(([reference, height]) => [...references[reference], height]);
    const bars = likely.map(([x, , , height]) => `M${x} ${bottom}v${-height}`);
    const known = truth.map((x) => line([x, top], [x, bottom]));
    draw(strip, { mass: bars.join(""), true: known.join("") });
    draw(map, { likely: likely.map(([, x, y, height]) => disc(x, y, height / 10)).join("") });
    mark(timeline, { cursor: line([moment, cursor[0]], [moment, cursor[1]]) }, [moment, 0]);
    shares.forEach((share, place) => {
      share.querySelector("output").textContent = told[place];
      share.querySelector("meter").value = parseFloat(told[place]) || 0;
    });
  };
}

function fill(card, frame) {
  const [query, match] = card.querySelectorAll("figure");
  photograph(query, frame.picture, frame.title);
  photograph(match, frame.match_picture, frame.match_title);
  const verdict = card.querySelector(".verdict");
  verdict.textContent = frame.verdict;
  card.classList.toggle("wrong", frame.wrong);
  card.querySelectorAll("dd").forEach((value, number) => (value.textContent = frame.facts[number]));
}

"use strict";
// Shows the frame that is pointed at. Everything is text or pixels already; nothing here computes a result.
const pictures = JSON.parse(document.getElementById("pictures").textContent);
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

// Pointing, and tapping where there is nothing to point with; a click also hands the arrow keys to the slider.
function point(plot, slider, to) {
  const svg = plot.querySelector("svg");
  const follow = (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    to([place.x, place.y]);
  };
  svg.addEventListener("pointermove", follow);
  svg.addEventListener("click", (event) => {
    follow(event);
    slider.focus({ preventScroll: true });
  });
}

function letSwitch(key, figure) {
  key.disabled = false;
  key.addEventListener("click", () => {
    const shown = key.getAttribute("aria-pressed") !== "true";
    key.setAttribute("aria-pressed", shown);
    figure.querySelector(`[data-layer="${key.dataset.switch}"]`).classList.toggle("away", !shown);
  });
}

function nearest(frames, distance) {
  const distances = frames.map(distance);
  return distances.indexOf(Math.min(...distances));
}

function apart(a, b) {
  return b === null ? Infinity : Math.hypot(a[0] - b[0], a[1] - b[1]);
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

function inPairs(flat) {
  return flat.flatMap((value, at) => (at % 2 ? [] : [[value, flat[at + 1]]]));
}

function disc(x, y, radius) {
  const half = `a${radius} ${radius} 0 1 0`;
  return `M${x - radius} ${y}${half} ${2 * radius} 0${half} ${-2 * radius} 0z`;
}

function spot(at) {
  return at === null ? "" : `M${at}h0`;
}

function line(from, to) {
  return from === null || to === null ? "" : `M${from}L${to}`;
}

// Draws the marks, and brings them into sight where the drawing is wider than the screen.
function mark(plot, marks, [x]) {
  draw(plot, marks);
  const svg = plot.querySelector("svg");
  const at = (x / svg.viewBox.baseVal.width) * svg.clientWidth;
  const inSight = at > plot.scrollLeft && plot.scrollLeft + plot.clientWidth > at;
  if (!inSight) plot.scrollLeft = at - plot.clientWidth / 2;
}

function draw(plot, marks) {
  Object.entries(marks).forEach(([role, d]) => plot.querySelector(`.marker .${role}`).setAttribute("d", d));
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

function photograph(figure, number, title) {
  const image = new Image();
  if (number !== null) image.src = pictures[number];
  image.alt = title;
  figure.querySelector(".picture").replaceChildren(number === null ? "no image" : image);
  figure.querySelector("figcaption").textContent = title;
}

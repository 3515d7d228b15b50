"use strict";
// What the scripts of all pages share: pointing at drawings, marks on them, pictures. Everything is text or pixels
// already; nothing here computes a result.
const pictures = JSON.parse(document.getElementById("pictures").textContent);

// Pointing, and tapping where there is nothing to point with; a click also hands the arrow keys to the slider. Where
// the drawing has a window that can be zoomed, places are those inside it.
function point(plot, slider, to) {
  const svg = plot.querySelector("svg");
  const drawn = svg.querySelector(".window > g") ?? svg;
  const follow = (event, clicked) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawn.getScreenCTM().inverse());
    to([place.x, place.y], clicked);
  };
  svg.addEventListener("pointermove", (event) => follow(event, false));
  svg.addEventListener("click", (event) => {
    follow(event, true);
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

// An ellipse by its semi-axes and the turn of the first in degrees.
function ring([x, y], [long, short, turn]) {
  const angle = (turn * Math.PI) / 180;
  const [dx, dy] = [long * Math.cos(angle), long * Math.sin(angle)];
  const half = `A${long} ${short} ${turn} 1 0`;
  return `M${x - dx} ${y - dy}${half} ${x + dx} ${y + dy}${half} ${x - dx} ${y - dy}z`;
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

function fill(card, shown, warned) {
  const [here, match] = card.querySelectorAll("figure");
  photograph(here, shown.picture, shown.title);
  photograph(match, shown.match_picture, shown.match_title);
  card.querySelector(".verdict").textContent = shown.verdict;
  card.classList.toggle("wrong", warned);
  card.querySelectorAll("dd").forEach((value, number) => (value.textContent = shown.facts[number]));
}

function photograph(figure, number, title) {
  const image = new Image();
  if (number !== null) image.src = pictures[number];
  image.alt = title;
  figure.querySelector(".picture").replaceChildren(number === null ? "no image" : image);
  figure.querySelector("figcaption").textContent = title;
}

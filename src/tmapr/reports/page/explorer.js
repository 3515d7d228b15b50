// Shows the frame of a run that is pointed at, stepped to, played or asked for.
const PAUSE = 160; // milliseconds from one frame to the next

document.querySelectorAll(".explorer").forEach(explore);
document.querySelectorAll(".overview .map").forEach((map) => letZoom(map));
document.querySelectorAll("[data-switch]").forEach((key) => letSwitch(key, key.closest("figure")));

function explore(explorer) {
  const { frames, cursor, first, belief } = JSON.parse(explorer.querySelector("script").textContent);
  const slider = explorer.querySelector("input");
  const card = explorer.querySelector(".card");
  const [map, strip] = [".map", ".strip"].map((kind) => explorer.querySelector(`${kind} .plot`));
  const sight = letZoom(explorer.querySelector(".map"), () => locate(Number(slider.value)));
  const believe = belief ? showBelief(explorer, map, sight, belief) : () => {};
  const locate = (number) => {
    draw(map, placesOn(frames[number]));
    believe(number, frames[number].moment);
  };
  const show = (number) => {
    const frame = frames[number];
    slider.value = number;
    slider.setAttribute("aria-valuetext", `${frame.title}: ${frame.verdict}`);
    locate(number);
    mark(strip, momentOf(frame, cursor), [frame.moment, 0]);
    fill(card, frame, frame.wrong);
  };
  const step = (number) => {
    show(number);
    sight.follow(frames[number].fused);
  };
  const player = letPlay(explorer.querySelector(".play"), slider, frames.length, step);
  const onMap = (at) => nearest(frames, (frame) => Math.min(apart(at, frame.fused), apart(at, frame.truth)));
  const onStrip = (at) => nearest(frames, (frame) => Math.abs(at[0] - frame.moment));
  point(map, slider, (at, clicked) => player.let(clicked, () => show(onMap(at))));
  explorer.querySelectorAll(".strip .plot").forEach((plot) =>
    point(plot, slider, (at, clicked) => player.let(clicked, () => step(onStrip(at)))));
  slider.addEventListener("input", () => player.let(true, () => step(Number(slider.value))));
  explorer.closest("section").querySelectorAll("[data-frame]").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    player.let(true, () => step(Number(link.dataset.frame)));
    explorer.scrollIntoView();
    slider.focus({ preventScroll: true });
  }));
  card.hidden = explorer.querySelector(".steps").hidden = false;
  show(first);
}

// Plays the frames in their order and stops at the last; whoever chooses a frame while it plays ends it.
function letPlay(button, slider, count, step) {
  let clock = null;
  const stop = () => {
    clearInterval(clock);
    clock = null;
    button.textContent = "Play";
  };
  const next = () => {
    const number = Number(slider.value) + 1;
    if (number < count) step(number);
    if (number >= count - 1) stop();
  };
  button.addEventListener("click", () => {
    if (clock !== null) return stop();
    if (Number(slider.value) === count - 1) step(0);
    button.textContent = "Pause";
    clock = setInterval(next, PAUSE);
  });
  return {
    // Pointing does not disturb what plays; choosing does.
    let(chosen, act) {
      if (clock !== null && !chosen) return;
      if (clock !== null) stop();
      act();
    },
  };
}

function placesOn(frame) {
  const from = frame.truth ?? frame.fused;
  return {
    here: spot(frame.fused),
    matched: spot(frame.match),
    gap: line(frame.truth, frame.fused),
    link: line(from, frame.match),
    ellipse: ring(frame.fused, frame.ellipse),
  };
}

function momentOf(frame, [top, bottom]) {
  const error = frame.error === null ? null : [frame.moment, frame.error];
  return { here: spot(error), cursor: line([frame.moment, top], [frame.moment, bottom]) };
}

// The references that are likely: bars along the route, whose heights are roots of probabilities, and dots on the map,
// whose areas then go by the probabilities themselves.
function showBelief(explorer, map, sight, { references, views, frames, span, cursor }) {
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
    draw(map, { likely: likely.map(([, x, y, height]) => disc(x, y, height / 10 / sight.zoom)).join("") });
    mark(timeline, { cursor: line([moment, cursor[0]], [moment, cursor[1]]) }, [moment, 0]);
    shares.forEach((share, place) => {
      share.querySelector("output").textContent = told[place];
      share.querySelector("meter").value = parseFloat(told[place]) || 0;
    });
  };
}

// Shows the reference of a map that is pointed at, and what looks like it.
document.querySelectorAll(".explorer").forEach(survey);

function survey(explorer) {
  const { stations, twins, cursor, hidden } = JSON.parse(explorer.querySelector("script").textContent);
  const slider = explorer.querySelector("input");
  const card = explorer.querySelector(".card");
  const [map, strip] = [".map", ".strip"].map((kind) => explorer.querySelector(`${kind} .plot`));
  const sight = letZoom(explorer.querySelector(".map"));
  const show = (number, stretches = []) => {
    const station = stations[number];
    const [x] = station.moment;
    slider.value = number;
    slider.setAttribute("aria-valuetext", `${station.title}: ${station.verdict}`);
    const marks = { here: spot(station.here), matched: spot(station.match), link: line(station.here, station.match) };
    draw(map, { ...marks, stretch: stretches.map((points) => `M${points.join("L")}`).join("") });
    mark(strip, { here: spot(station.moment), cursor: line([x, cursor[0]], [x, cursor[1]]) }, station.moment);
    fill(card, station, station.alike);
  };
  point(map, slider, (at) => show(nearest(stations, (station) => apart(at, station.here))));
  point(strip, slider, (at) => show(nearest(stations, (station) => Math.abs(at[0] - station.moment[0]))));
  slider.addEventListener("input", () => {
    show(Number(slider.value));
    sight.follow(stations[Number(slider.value)].here);
  });
  explorer.querySelectorAll("[data-switch]").forEach((key) => {
    letSwitch(key, key.closest("figure"));
    if (hidden.includes(key.dataset.switch)) key.click();
  });
  document.querySelectorAll("[data-twin]").forEach((button) => {
    const { station, stretches } = twins[Number(button.dataset.twin)];
    button.hidden = false;
    button.addEventListener("click", () => {
      show(station, stretches);
      map.scrollIntoView({ block: "nearest" });
      slider.focus({ preventScroll: true });
    });
  });
  card.hidden = slider.parentElement.hidden = false;
  // What a reader should see first: the middle of the longest and most similar stretch.
  show(twins.length ? twins[0].station : 0, twins.length ? twins[0].stretches : []);
}

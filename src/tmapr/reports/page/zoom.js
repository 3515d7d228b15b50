// A map that can be zoomed and moved. Its window shows a part of what is drawn; the style sheet keeps lines and dots
// as they are, and the axes are numbered anew. A wheel without Ctrl and one finger still scroll the page.
const MOST = 40;

function letZoom(figure, changed = () => {}) {
  const plot = figure.querySelector(".plot");
  const pane = plot.querySelector(".window");
  const axes = plot.querySelector(".axes");
  const untouched = axes.innerHTML;
  const [x, y, width, height] = pane.getAttribute("viewBox").split(" ").map(Number);
  const sight = { zoom: 1, left: x, top: y };
  const place = ({ clientX, clientY }) =>
    new DOMPoint(clientX, clientY).matrixTransform(pane.querySelector("g").getScreenCTM().inverse());

  const look = (zoom, left, top) => {
    const inside = (from, size, start) => Math.min(Math.max(start, from), from + size - size / zoom);
    Object.assign(sight, { zoom, left: inside(x, width, left), top: inside(y, height, top) });
    const box = [sight.left, sight.top, width / zoom, height / zoom];
    pane.setAttribute("viewBox", box.join(" "));
    plot.style.setProperty("--zoom", zoom);
    plot.classList.toggle("zoomed", zoom > 1);
    axes.innerHTML = zoom === 1 ? untouched : numberAxes(axes, box, [x, y, width, height]);
    changed();
  };
  // What lies under `at` stays there.
  const zoomAt = (factor, at) => {
    const zoom = Math.min(Math.max(sight.zoom * factor, 1), MOST);
    const share = sight.zoom / zoom;
    look(zoom, at.x - (at.x - sight.left) * share, at.y - (at.y - sight.top) * share);
  };
  const move = (from, to) => look(sight.zoom, sight.left + from.x - to.x, sight.top + from.y - to.y);
  const middle = () => ({ x: sight.left + width / sight.zoom / 2, y: sight.top + height / sight.zoom / 2 });
  const acts = { in: () => zoomAt(2, middle()), out: () => zoomAt(0.5, middle()), reset: () => look(1, x, y) };
  figure.querySelectorAll("[data-zoom]").forEach((key) => key.addEventListener("click", acts[key.dataset.zoom]));
  figure.querySelector(".zoom").hidden = false;
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.03 : 0.002)), place(event));
  }, { passive: false });
  letDrag(plot, place, move, () => sight.zoom > 1);
  letPinch(plot, place, zoomAt, move);

  return {
    get zoom() { return sight.zoom; },
    // Moves a point that has left the window to its middle.
    follow([atX, atY]) {
      const [w, h] = [width / sight.zoom, height / sight.zoom];
      const seen = atX >= sight.left && atX <= sight.left + w && atY >= sight.top && atY <= sight.top + h;
      if (!seen) look(sight.zoom, atX - w / 2, atY - h / 2);
    },
  };
}

// Moves by a pressed mouse; what the drawing is told of pointing in between is held back.
function letDrag(plot, place, move, allowed) {
  let from = null;
  let moved = false;
  const hold = (event) => event.stopPropagation();
  plot.addEventListener("pointerdown", (event) => {
    moved = false;
    from = event.pointerType === "mouse" && event.button === 0 && allowed() ? { at: place(event), x: event.clientX, y: event.clientY } : null;
  });
  plot.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    hold(event);
    moved ||= Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4;
    if (moved) move(from.at, place(event));
  }, true);
  addEventListener("pointerup", () => (from = null));
  plot.addEventListener("click", (event) => moved && hold(event), true);
}

// Two fingers zoom and move; one is the page's.
function letPinch(plot, place, zoomAt, move) {
  let before = null;
  const grip = ([a, b]) => ({
    clientX: (a.clientX + b.clientX) / 2,
    clientY: (a.clientY + b.clientY) / 2,
    span: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY),
  });
  const follow = (event) => {
    if (event.touches.length !== 2) return (before = null);
    event.preventDefault();
    const now = grip(event.touches);
    if (before) {
      move(before.at, place(now));
      zoomAt(now.span / before.span, place(now));
    }
    before = { span: now.span, at: place(now) };
  };
  ["touchstart", "touchmove", "touchend"].forEach((kind) => plot.addEventListener(kind, follow, { passive: false }));
}

// Grid, numbers and scale of what the window shows; titles stay.
function numberAxes(axes, [left, top, width, height], [x, y, wide, tall]) {
  const [metresX, metresY] = [axes.dataset.x, axes.dataset.y].map((span) => span.split(" ").map(Number));
  const toX = (at) => metresX[0] + ((at - x) / wide) * (metresX[1] - metresX[0]);
  const toY = (at) => metresY[1] - ((at - y) / tall) * (metresY[1] - metresY[0]);
  const span = toX(left + width) - toX(left);
  const step = roundStep(span / 10);
  const bottom = y + tall;
  const parts = multiples(toX(left), toX(left + width), step).map(([words, value]) => {
    const at = x + ((value - toX(left)) / span) * wide;
    return `<path class="line grid" d="M${at} ${bottom}V${y}"/><text class="tick" text-anchor="middle" x="${at}" y="${bottom + 17}">${words}</text>`;
  });
  multiples(toY(top + height), toY(top), step).forEach(([words, value]) => {
    const at = bottom - ((value - toY(top + height)) / (toY(top) - toY(top + height))) * tall;
    parts.push(`<path class="line grid" d="M${x} ${at}H${x + wide}"/><text class="tick" text-anchor="end" x="${x - 8}" y="${at + 4}">${words}</text>`);
  });
  const metres = roundStep(span / 12);
  const [start, end, under] = [x + wide - 1 - (metres / span) * wide, x + wide - 1, bottom + 37];
  parts.push(`<path class="line scale" d="M${start} ${under - 4}v4H${end}v-4"/><text class="tick scale" text-anchor="end" x="${start - 8}" y="${under}">${metres} m</text>`);
  return parts.join("") + [...axes.querySelectorAll(".title")].map((title) => title.outerHTML).join("");
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((each) => each * power >= least * (1 - 1e-9));
  return Number((factor * power).toPrecision(1));
}

function multiples(low, high, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step)));
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, number) => (first + number) * step).map((value) => [value.toFixed(decimals).replace("-", "−"), value]);
}

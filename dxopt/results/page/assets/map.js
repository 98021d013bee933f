"use strict";

const MARGIN = 22;
const FOOT = 50;
const MOST_NAMED = 12;
const KM_PER_DEGREE = 111.19492664455873;

function map(figure) {
  const canvas = figure.querySelector("canvas");
  const told = figure.querySelector(".told");
  const select = figure.querySelector("select");
  const at = { reports: 0, posterior: 0 };
  let data, places, pen, wide, high, mode = "reports";

  function prepared() {
    if (data) return;
    data = channel(figure.dataset.channel);
    const { secrets, reports } = data.plane;
    places = { secrets, reports: reports ?? secrets };
    const best = (values) => values.reduce((found, value, place) => (value > values[found] ? place : found), 0);
    at.reports = best(data.prior);
    at.posterior = best([...row(data, at.reports)]);
    listed();
  }

  const pointed = () => (mode === "reports" ? places.secrets : places.reports);
  const coloured = () => (mode === "reports" ? places.reports : places.secrets);
  const names = () => (mode === "reports" ? data.secrets : data.reports);
  const others = () => (mode === "reports" ? data.reports : data.secrets);

  function listed() {
    select.replaceChildren(...names().map((name, place) => new Option(name, place)));
    figure.querySelector(".chosen").textContent = mode === "reports" ? "Secret" : "Report";
  }

  function frame() {
    const every = [places.secrets, places.reports, ...(data.plane.areas ?? []), ...(data.plane.streets ?? [])].flat();
    const [xs, ys] = [every.map((place) => place[0]), every.map((place) => place[1])];
    const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
    const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
    const [left, right, low, top] = [least(xs), most(xs), least(ys), most(ys)];
    const size = Math.max(right - left, top - low) || 1;
    const shape = Math.min(Math.max((top - low) / (right - left || size), 0.3), 1.1);
    ({ pen, wide, high } = fitted(canvas, (width) => (width - 2 * MARGIN) * shape + MARGIN + FOOT));
    const scale = Math.min((wide - 2 * MARGIN) / (right - left || size), (high - MARGIN - FOOT) / (top - low || size));
    const [x0, y0] = [(wide - scale * (right - left)) / 2, (high - FOOT + MARGIN + scale * (top - low)) / 2];
    return {
      scale,
      on: ([x, y]) => [x0 + scale * (x - left), y0 - scale * (y - low)],
      from: (x, y) => [left + (x - x0) / scale, low + (y0 - y) / scale],
    };
  }

  function radii(dots) {
    const base = Math.min(Math.max((0.14 * wide) / Math.sqrt(dots.length), 3), 13);
    const on = dots.map(screen.on);
    return on.map(([x, y], place) => {
      let near = Infinity;
      for (let other = 0; other < on.length; other++) {
        if (other !== place) near = Math.min(near, Math.hypot(on[other][0] - x, on[other][1] - y));
      }
      return Math.max(Math.min(base, near / 2 - 0.5), 3);
    });
  }

  let screen;

  function values() {
    if (mode === "reports") return { shares: [...row(data, at.reports)], total: 1 };
    const { total, beliefs } = posterior(data, at.posterior);
    return { shares: beliefs, total };
  }

  function draw() {
    prepared();
    screen = frame();
    const { shares } = values();
    const most = Math.max(...shares) || 1;
    const colours = ramp();
    const fill = (share) => (share > 0 ? `rgb(${colours(Math.sqrt(share / most))})` : colour(data.plane.areas ? "never" : "paper"));
    const traced = (points, closed) => {
      pen.beginPath();
      points.forEach((place) => pen.lineTo(...screen.on(place)));
      if (closed) pen.closePath();
    };
    pen.clearRect(0, 0, wide, high);
    beneath(traced);
    pen.strokeStyle = colour("edge");
    pen.lineWidth = 1;
    for (const street of data.plane.streets ?? []) {
      traced(street, false);
      pen.stroke();
    }
    const filled = data.plane.areas && coloured() === places.secrets;
    const size = radii(coloured());
    const order = shares.map((_, place) => place).sort((one, other) => shares[one] - shares[other]);
    for (const place of order) {
      pen.fillStyle = fill(shares[place]);
      pen.strokeStyle = filled ? colour("paper") : colour("edge");
      pen.lineWidth = filled ? 0.8 : 0.6;
      if (filled) traced(data.plane.areas[place], true);
      else {
        pen.beginPath();
        pen.arc(...screen.on(coloured()[place]), size[place], 0, 2 * Math.PI);
      }
      pen.fill();
      pen.stroke();
    }
    if (filled) beneath(traced, true);
    ringed(screen.on(pointed()[at[mode]]), (filled ? 6 : radii(pointed())[at[mode]]) + 3);
    labelled(order.toReversed());
    ticked();
    ruled();
    const never = figure.querySelector(".of-never").parentElement;
    never.hidden = shares.every((share) => share > 0);
    never.lastChild.textContent = mode === "reports" ? "never reported from there" : "impossible after that report";
    scaled(figure, { low: "0", middle: shown(most / 4), high: shown(most) });
    say(shares);
  }

  function ringed([x, y], radius) {
    for (const [width, name] of [[5, "paper"], [2.5, "mark"]]) {
      pen.beginPath();
      pen.arc(x, y, Math.max(radius, 7), 0, 2 * Math.PI);
      pen.lineWidth = width;
      pen.strokeStyle = colour(name);
      pen.stroke();
    }
  }

  function beneath(traced, above = false) {
    const { areas, lines } = data.plane.beneath ?? { areas: [], lines: [] };
    for (const [kind, rings] of above ? [] : areas) {
      pen.fillStyle = colour(kind === "road" ? "land" : kind);
      const path = new Path2D();
      for (const ring of rings) {
        ring.forEach((place, corner) => path[corner ? "lineTo" : "moveTo"](...screen.on(place)));
        path.closePath();
      }
      pen.fill(path, "evenodd");
    }
    pen.lineWidth = 1.2;
    for (const [kind, line] of lines) {
      pen.strokeStyle = colour(kind === "water" ? "shore" : "road");
      traced(line, false);
      pen.stroke();
    }
  }

  function written(text, x, y, name, taken) {
    const half = pen.measureText(text).width / 2;
    const box = [x - half - 3, y - 8, x + half + 3, y + 8];
    const free = taken.every(([left, top, right, low]) => box[2] < left || box[0] > right || box[3] < top || box[1] > low);
    if (!free || box[0] < 2 || box[2] > wide - 2 || box[1] < 2 || box[3] > high - 18) return false;
    taken.push(box);
    pen.lineWidth = 3.5;
    pen.lineJoin = "round";
    pen.strokeStyle = colour("paper");
    pen.strokeText(text, x, y);
    pen.fillStyle = colour(name);
    pen.fillText(text, x, y);
    return true;
  }

  function labelled(order) {
    const taken = [[0, high - 40, 0.36 * wide, high]];
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = "600 12px system-ui, sans-serif";
    const above = (place) => screen.on(place).map((value, part) => value - 20 * part);
    const called = (name, place) => data.plane.named && written(shortened(name), ...above(place), "ink", taken);
    called(names()[at[mode]], pointed()[at[mode]]);
    const values = order.slice(0, MOST_NAMED);
    pen.font = "12px system-ui, sans-serif";
    for (const each of values) called(others()[each], coloured()[each]);
    const dots = coloured().map(screen.on);
    if (!data.plane.areas) taken.push(...dots.map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]));
    for (const [name, place] of data.plane.beneath?.names ?? []) {
      const [x, y] = screen.on(place);
      [0, -14, 14].some((down) => written(name, x, y + down, "soft", taken));
    }
    pen.textAlign = "start";
    pen.textBaseline = "alphabetic";
  }

  const shortened = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);

  // A coordinate along one side: its value where the canvas begins, and how much it grows with each pixel.
  function along(side) {
    const { corner, size, middle } = data.plane;
    const pixel = size / screen.scale;
    const start = corner[side] + size * screen.from(0, high)[side];
    if (!middle) return [start, pixel];
    const km = side ? KM_PER_DEGREE : KM_PER_DEGREE * Math.cos((middle[0] * Math.PI) / 180);
    return [middle[1 - side] + start / km, pixel / km];
  }

  function ticked() {
    pen.font = "11px system-ui, sans-serif";
    pen.strokeStyle = pen.fillStyle = colour("soft");
    pen.lineWidth = 1;
    for (const side of [0, 1]) {
      const [start, pixel] = along(side);
      const room = side ? high : wide;
      const least = pixel * (side ? 60 : 90);
      const power = 10 ** Math.floor(Math.log10(least));
      const step = [1, 2, 5, 10].map((part) => part * power).find((found) => found >= least);
      const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      for (let tick = Math.ceil(start / step); (tick * step - start) / pixel < room; tick++) {
        const place = (tick * step - start) / pixel;
        if (place < (side ? 60 : 30) || place > room - (side ? 12 : 40)) continue;
        pen.beginPath();
        pen.moveTo(...(side ? [0, high - place] : [place, high]));
        pen.lineTo(...(side ? [5, high - place] : [place, high - 5]));
        pen.stroke();
        const text = graded(tick * step, side, digits);
        pen.textAlign = side ? "start" : "center";
        pen.strokeStyle = colour("paper");
        pen.lineWidth = 3;
        pen.strokeText(text, ...(side ? [8, high - place + 4] : [place, high - 8]));
        pen.fillText(text, ...(side ? [8, high - place + 4] : [place, high - 8]));
        [pen.strokeStyle, pen.lineWidth] = [colour("soft"), 1];
      }
    }
    pen.textAlign = "start";
  }

  function graded(value, side, digits) {
    if (!data.plane.middle) return value.toFixed(digits);
    const turned = side ? value : ((((value + 180) % 360) + 360) % 360) - 180;
    const letter = side ? (turned < 0 ? " S" : " N") : turned < 0 ? " W" : " E";
    return `${Math.abs(turned).toFixed(digits)}°${letter}`;
  }

  function ruled() {
    const most = (0.3 * wide * data.plane.size) / screen.scale;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = Math.max(...[1, 2, 5].map((step) => step * power).filter((step) => step <= most));
    const metres = data.plane.unit === "km" && length < 1;
    const [x, y] = [MARGIN / 2, high - 24];
    pen.fillStyle = pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + (length * screen.scale) / data.plane.size, y);
    pen.stroke();
    pen.font = "12px system-ui, sans-serif";
    const text = metres ? `${+(1000 * length).toPrecision(3)} m` : `${+length.toPrecision(3)} ${data.plane.unit}`;
    pen.fillText(text, x, y - 5);
  }

  function where(place) {
    const { corner, size, middle } = data.plane;
    if (!middle || names()[place].includes("°")) return "";
    const [east, north] = pointed()[place].map((value, side) => corner[side] + size * value);
    const shrunk = KM_PER_DEGREE * Math.cos((middle[0] * Math.PI) / 180);
    return ` (${graded(middle[0] + north / KM_PER_DEGREE, 1, 3)}, ${graded(middle[1] + east / shrunk, 0, 3)})`;
  }

  function say(shares) {
    const place = at[mode];
    const about = document.createElement("div");
    const { total } = values();
    const loss = data.losses[place] === null ? "infinite" : mode === "reports" && `${shown(data.losses[place])} ${data.unit}`.trim();
    about.textContent =
      mode === "reports"
        ? `From ${names()[place]}${where(place)}, with prior ${shown(data.prior[place])} and expected loss ${loss}, the report is`
        : total > 0
          ? `After the report ${names()[place]}${where(place)}, which comes with probability ${shown(total)}, the secret is`
          : `The report ${names()[place]} never comes.`;
    const order = shares.map((_, each) => each).sort((one, other) => shares[other] - shares[one]);
    const list = document.createElement("ol");
    for (const each of order.slice(0, 5).filter((found) => shares[found] > 0)) {
      const line = document.createElement("li");
      for (const text of [shown(shares[each]), others()[each]]) line.append(Object.assign(document.createElement("span"), { textContent: text }));
      list.append(line);
    }
    told.replaceChildren(about, list);
    select.value = String(place);
    Object.assign(figure.dataset, { mode, place, top: order[0], most: shares[order[0]] });
  }

  function choose(place) {
    if (place === at[mode]) return;
    at[mode] = place;
    draw();
  }

  function nearest(x, y) {
    const away = pointed().map((place) => Math.hypot(...screen.on(place).map((value, part) => value - [x, y][part])));
    return away.reduce((found, distance, place) => (distance < away[found] ? place : found), 0);
  }

  function beside([right, down]) {
    const [x, y] = screen.on(pointed()[at[mode]]);
    let [found, least] = [at[mode], Infinity];
    pointed().forEach((place, each) => {
      const [dx, dy] = screen.on(place).map((value, part) => value - [x, y][part]);
      const [along, aside] = [dx * right + dy * down, Math.abs(dx * down) + Math.abs(dy * right)];
      const cost = along + 2 * aside;
      if (along > 0.5 && cost < least) [found, least] = [each, cost];
    });
    return found;
  }

  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    if (screen) choose(nearest(event.clientX - box.left, event.clientY - box.top));
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    if (!(event.key in steps)) return;
    choose(beside(steps[event.key]));
    event.preventDefault();
  });
  select.addEventListener("change", () => choose(Number(select.value)));
  for (const radio of figure.querySelectorAll("input[type=radio]")) {
    radio.addEventListener("change", () => {
      mode = radio.value;
      listed();
      draw();
    });
  }
  watched(canvas, draw);
}

document.querySelectorAll("figure.map").forEach(map);

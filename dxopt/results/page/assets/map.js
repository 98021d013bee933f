"use strict";

const MARGIN = 22;

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
    ({ pen, wide, high } = fitted(canvas, (width) => (width - 2 * MARGIN) * shape + 3 * MARGIN));
    const scale = Math.min((wide - 2 * MARGIN) / (right - left || size), (high - 3 * MARGIN) / (top - low || size));
    const [x0, y0] = [(wide - scale * (right - left)) / 2, (high - MARGIN + scale * (top - low)) / 2];
    return { scale, on: ([x, y]) => [x0 + scale * (x - left), y0 - scale * (y - low)] };
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
    const fill = (share) => (share > 0 ? `rgb(${colours(Math.sqrt(share / most))})` : colour("never"));
    const traced = (points, closed) => {
      pen.beginPath();
      points.forEach((place) => pen.lineTo(...screen.on(place)));
      if (closed) pen.closePath();
    };
    pen.clearRect(0, 0, wide, high);
    pen.strokeStyle = colour("edge");
    pen.lineWidth = 1;
    for (const street of data.plane.streets ?? []) {
      traced(street, false);
      pen.stroke();
    }
    const filled = data.plane.areas && coloured() === places.secrets;
    const radius = Math.min(Math.max((0.14 * wide) / Math.sqrt(shares.length), 3), 13);
    const order = shares.map((_, place) => place).sort((one, other) => shares[one] - shares[other]);
    for (const place of order) {
      pen.fillStyle = fill(shares[place]);
      pen.strokeStyle = filled ? colour("paper") : colour("edge");
      pen.lineWidth = filled ? 0.8 : 0.6;
      if (filled) traced(data.plane.areas[place], true);
      else {
        pen.beginPath();
        pen.arc(...screen.on(coloured()[place]), radius, 0, 2 * Math.PI);
      }
      pen.fill();
      pen.stroke();
    }
    ringed(screen.on(pointed()[at[mode]]), radius + 3);
    ruled();
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

  function ruled() {
    const most = (0.3 * wide * data.plane.size) / screen.scale;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = Math.max(...[1, 2, 5].map((step) => step * power).filter((step) => step <= most));
    const metres = data.plane.unit === "km" && length < 1;
    pen.fillStyle = pen.strokeStyle = colour("soft");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(MARGIN / 2, high - 8);
    pen.lineTo(MARGIN / 2 + (length * screen.scale) / data.plane.size, high - 8);
    pen.stroke();
    pen.font = "12px system-ui, sans-serif";
    const text = metres ? `${+(1000 * length).toPrecision(3)} m` : `${+length.toPrecision(3)} ${data.plane.unit}`;
    pen.fillText(text, MARGIN / 2, high - 14);
  }

  function say(shares) {
    const place = at[mode];
    const about = document.createElement("div");
    const { total } = values();
    const loss = data.losses[place] === null ? "infinite" : mode === "reports" && shown(data.losses[place]);
    about.textContent =
      mode === "reports"
        ? `From ${names()[place]}, with prior ${shown(data.prior[place])} and expected loss ${loss}, the report is`
        : total > 0
          ? `After the report ${names()[place]}, which comes with probability ${shown(total)}, the secret is`
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

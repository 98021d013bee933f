"use strict";

function heat(figure) {
  const canvas = figure.querySelector("canvas");
  const told = figure.querySelector(".told");
  const tip = document.createElement("div");
  const at = { secret: 0, report: 0, chosen: false };
  let data, picture, pictureTheme, pen, wide, high, low;
  tip.className = "tip";
  tip.hidden = true;
  canvas.parentElement.append(tip);

  function painted() {
    if (picture && pictureTheme === dark()) return picture;
    const colours = ramp();
    const never = colours(0).map((_, part) => parseInt(colour("never").slice(1 + 2 * part, 3 + 2 * part), 16));
    picture = document.createElement("canvas");
    [picture.width, picture.height, pictureTheme] = [data.width, data.secrets.length, dark()];
    const image = new ImageData(data.width, data.secrets.length);
    data.matrix.forEach((value, place) => {
      const shade = value > 0 ? colours(1 - Math.log(Math.max(value, low)) / Math.log(low)) : never;
      image.data.set([...shade, 255], 4 * place);
    });
    picture.getContext("2d").putImageData(image, 0, 0);
    return picture;
  }

  function draw() {
    data = channel(figure.dataset.channel);
    low ??= Math.max(data.matrix.reduce((least, value) => (value > 0 && value < least ? value : least), 0.5), 1e-6);
    ({ pen, wide, high } = fitted(canvas, (width) => {
      const tall = (width * data.secrets.length) / data.width;
      return Math.min(Math.max(tall, 28 * Math.min(data.secrets.length, 6)), 1.25 * width);
    }));
    pen.imageSmoothingEnabled = data.width > 2 * wide;
    pen.drawImage(painted(), 0, 0, wide, high);
    scaled(figure, { low: `≤ ${shown(low)}`, middle: shown(Math.sqrt(low)), high: "1" });
    named(".down", data.secrets, high);
    named(".across", data.reports, wide);
    if (at.chosen) marked();
  }

  function named(side, labels, room) {
    const step = Math.ceil((labels.length * 20) / room);
    const kept = labels.map((_, place) => place).filter((place) => place % step === 0);
    const longest = Math.max(...kept.map((place) => labels[place].length));
    const names = kept.map((place) => {
      const name = Object.assign(document.createElement("span"), { textContent: labels[place] });
      name.style.setProperty("--at", `${(100 * (place + 0.5)) / labels.length}%`);
      return name;
    });
    const list = figure.querySelector(side);
    list.classList.toggle("upright", 8 * longest > (room * step) / labels.length);
    list.style.setProperty("--longest", longest);
    list.replaceChildren(...names);
  }

  function marked() {
    const [across, down] = [wide / data.width, high / data.secrets.length];
    const [x, y] = [at.report * across, at.secret * down];
    const grown = Math.max(0, (8 - Math.min(across, down)) / 2);
    pen.strokeStyle = colour("mark");
    pen.lineWidth = 2;
    pen.strokeRect(x - grown, y - grown, across + 2 * grown, down + 2 * grown);
    pen.globalAlpha = 0.35;
    pen.strokeRect(0, y, wide, down);
    pen.strokeRect(x, 0, across, high);
    pen.globalAlpha = 1;
  }

  function choose(secret, report) {
    at.secret = Math.min(Math.max(secret, 0), data.secrets.length - 1);
    at.report = Math.min(Math.max(report, 0), data.width - 1);
    at.chosen = true;
    const value = data.matrix[at.secret * data.width + at.report];
    told.textContent = `From ${data.secrets[at.secret]} to ${data.reports[at.report]}: probability ${shown(value)}`;
    Object.assign(canvas.dataset, { secret: at.secret, report: at.report, probability: value });
    draw();
    tip.textContent = `${data.secrets[at.secret]} → ${data.reports[at.report]}: ${shown(value)}`;
    tip.hidden = false;
    const x = ((at.report + 0.5) * wide) / data.width;
    tip.style.left = `${Math.max(0, Math.min(x + 12, wide - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(((at.secret + 1) * high) / data.secrets.length + 6, 0)}px`;
  }

  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    choose(Math.floor(y * data.secrets.length), Math.floor(x * data.width));
  });
  canvas.addEventListener("pointerdown", (event) => canvas.dispatchEvent(new PointerEvent("pointermove", event)));
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("blur", () => (tip.hidden = true));
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && choose(at.secret, at.report));
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const ends = { Home: [at.secret, 0], End: [at.secret, Infinity], PageUp: [0, at.report], PageDown: [Infinity, at.report] };
    if (event.key in steps) choose(at.secret + steps[event.key][0], at.report + steps[event.key][1]);
    else if (event.key in ends) choose(...ends[event.key]);
    else return;
    event.preventDefault();
  });
  watched(canvas, draw);
}

document.querySelectorAll("figure.heat").forEach(heat);

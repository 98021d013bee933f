"use strict";

const SMALLEST = 1.1754943508222875e-38;
const PALE = ["#f4fbd6", "#d2eeb3", "#8fd4b9", "#49b8c2", "#2290bf", "#225ea8", "#253494", "#081d58"];
const GLOWING = ["#2f3640", "#29405f", "#2c5373", "#3f7183", "#5f9186", "#93b27f", "#d3cf74", "#fdf3a0"];
const loaded = {};
const contents = JSON.parse(document.getElementById("channels").textContent);

function channel(name) {
  if (!loaded[name]) {
    const content = contents[name];
    const bytes = Uint8Array.from(atob(content.channel), (letter) => letter.charCodeAt(0));
    const reports = content.reports ?? content.secrets;
    loaded[name] = { ...content, reports, matrix: new Float32Array(bytes.buffer), width: reports.length };
  }
  return loaded[name];
}

function row(data, secret) {
  return data.matrix.subarray(secret * data.width, (secret + 1) * data.width);
}

function posterior(data, report) {
  const joint = data.prior.map((prior, secret) => prior * data.matrix[secret * data.width + report]);
  const total = joint.reduce((sum, part) => sum + part, 0);
  return { total, beliefs: total > 0 ? joint.map((part) => part / total) : joint };
}

function shown(number) {
  if (number === 0) return "0";
  if (number <= SMALLEST) return "below 1.2e-38";
  if (everyDigit()) return String(Number(number.toPrecision(9)));
  if (number < 1e-4) return number.toExponential(1);
  if (number >= 1000) return number.toFixed(0);
  return String(Number(number.toPrecision(3)));
}

function ramp() {
  const stops = (dark() ? GLOWING : PALE).map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  return (share) => {
    const along = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const [low, part] = [Math.min(Math.floor(along), stops.length - 2), along - Math.min(Math.floor(along), stops.length - 2)];
    return stops[low].map((value, at) => Math.round(value + part * (stops[low + 1][at] - value)));
  };
}

function scaled(figure, numbers) {
  const stops = dark() ? GLOWING : PALE;
  figure.querySelector(".ramp").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  for (const [place, text] of Object.entries(numbers)) figure.querySelector(`.numbers .${place}`).textContent = text;
}

function fitted(canvas, height) {
  const [wide, ratio] = [canvas.clientWidth, devicePixelRatio || 1];
  const high = Math.round(height(wide));
  canvas.style.height = `${high}px`;
  canvas.width = Math.round(wide * ratio);
  canvas.height = Math.round(high * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { pen, wide, high };
}

function watched(canvas, draw) {
  let before = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth > 0 && canvas.clientWidth !== before) {
      before = canvas.clientWidth;
      draw();
    }
  }).observe(canvas);
  byTheme.push(() => canvas.clientWidth > 0 && draw());
}

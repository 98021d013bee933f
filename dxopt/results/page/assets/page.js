"use strict";

const byTheme = [];

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function remembered(theme) {
  try {
    if (theme) localStorage.setItem("dxopt-theme", theme);
    return localStorage.getItem("dxopt-theme");
  } catch {
    return null;
  }
}

function themed() {
  document.getElementById("theme").setAttribute("aria-pressed", String(dark()));
  byTheme.forEach((draw) => draw());
}

{
  const before = remembered();
  if (before === "dark" || before === "light") document.documentElement.dataset.theme = before;
  document.getElementById("theme").addEventListener("click", () => {
    const theme = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remembered(theme);
    themed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themed);
  addEventListener("DOMContentLoaded", themed);
}

function opened() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
}

addEventListener("hashchange", opened);
addEventListener("DOMContentLoaded", opened);
for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", () => setTimeout(opened));

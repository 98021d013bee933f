"use strict";

const byTheme = [];

const printed = matchMedia("print");

function dark() {
  if (printed.matches) return false;
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

function redrawn() {
  byTheme.forEach((draw) => draw());
}

function themed() {
  document.getElementById("theme").textContent = dark() ? "Light colours" : "Dark colours";
  redrawn();
}

function everyDigit() {
  return document.documentElement.dataset.digits === "all";
}

{
  const button = document.getElementById("digits");
  button.addEventListener("click", () => {
    if (everyDigit()) delete document.documentElement.dataset.digits;
    else document.documentElement.dataset.digits = "all";
    button.textContent = everyDigit() ? "Three digits" : "All digits";
    for (const part of document.querySelectorAll("data")) {
      part.dataset.short ??= part.textContent;
      part.textContent = everyDigit() ? part.value : part.dataset.short;
    }
    redrawn();
  });
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
  printed.addEventListener("change", redrawn);
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

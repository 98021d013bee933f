"use strict";

function compare(one, other) {
  const [a, b] = [one.dataset.key, other.dataset.key];
  if (a !== undefined && b !== undefined) return Number(a) - Number(b);
  return one.textContent.localeCompare(other.textContent, undefined, { numeric: true });
}

function sort(table, place, direction) {
  const body = table.tBodies[0];
  const blank = (row) => row.cells[place].textContent === "";
  const rows = [...body.rows].sort((one, other) =>
    blank(one) || blank(other)
      ? Number(blank(one)) - Number(blank(other))
      : direction * compare(one.cells[place], other.cells[place]),
  );
  body.append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  for (const head of heads) {
    if (table.tBodies[0].querySelector(`td.number:nth-child(${head.cellIndex + 1})`)) head.classList.add("number");
    head.querySelector("button")?.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const each of heads) if (each.hasAttribute("aria-sort")) each.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(table, head.cellIndex, up ? 1 : -1);
    });
  }
}

// What is laid out as cards is a table to a screen reader by its roles alone.
function named(table) {
  const names = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  table.setAttribute("role", "table");
  for (const group of [table.tHead, ...table.tBodies]) group.setAttribute("role", "rowgroup");
  for (const row of table.rows) {
    row.setAttribute("role", "row");
    [...row.cells].forEach((cell, place) => {
      const head = cell.scope === "col" ? "columnheader" : "rowheader";
      cell.setAttribute("role", cell.tagName === "TH" ? head : "cell");
      if (cell.textContent) cell.dataset.name = names[place];
    });
  }
}

function fit(box) {
  box.classList.remove("cards");
  if (box.scrollWidth <= box.clientWidth + 1) return;
  named(box.querySelector("table"));
  box.classList.add("cards");
}

const widths = new WeakMap();
const measured = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (widths.get(target) === target.clientWidth) continue;
    widths.set(target, target.clientWidth);
    fit(target);
  }
});
const boxes = document.querySelectorAll(".wide");
boxes.forEach((box) => measured.observe(box));
byTheme.push(() => boxes.forEach(fit)); // digits, too, change widths

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

const measured = new ResizeObserver((entries) => {
  for (const { target } of entries) target.toggleAttribute("data-over", target.scrollWidth > target.clientWidth + 1);
});
document.querySelectorAll(".wide").forEach((box) => measured.observe(box));

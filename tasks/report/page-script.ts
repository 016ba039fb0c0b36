/**
 * Sorts and pages the long tables, which are whole without it. It builds no
 * markup from text and reads no data but the cells themselves: their raw
 * integers, where they have such, else what they show.
 */
export const pageScript = `"use strict";
const collator = new Intl.Collator("en", { numeric: true });
for (const table of document.querySelectorAll("table[data-rows]")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const size = Number(table.dataset.rows);
  const what = table.dataset.what;
  let first = 0;
  let isWhole = rows.length <= size;

  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  };
  const group = (number) => number.toLocaleString("en");
  const previous = button("Previous", () => turn(first - size));
  const next = button("Next", () => turn(first + size));
  const toggle = button("Show all", () => {
    isWhole = !isWhole;
    turn(0);
  });
  const status = document.createElement("span");
  status.setAttribute("role", "status");

  function turn(to) {
    first = Math.max(0, Math.min(to, rows.length - 1));
    const end = isWhole ? rows.length : Math.min(first + size, rows.length);
    body.replaceChildren(...rows.slice(first, end));
    table.toggleAttribute("data-few", end - first <= Number(table.dataset.most));
    status.textContent = what + " " + group(first + 1) + " to " + group(end) + " of " + group(rows.length);
    previous.disabled = isWhole || first === 0;
    next.disabled = isWhole || end === rows.length;
    toggle.textContent = isWhole ? "Show pages" : "Show all";
  }

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const text = cell === undefined ? "" : cell.title || cell.textContent.trim();
    return /^[0-9]+$/.test(text) ? BigInt(text) : text;
  };
  const compare = (one, other) =>
    typeof one === "bigint" && typeof other === "bigint"
      ? one < other ? -1 : one > other ? 1 : 0
      : collator.compare(String(one), String(other));

  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const sort = button(heading.textContent.trim(), () => {
      const isDown = heading.getAttribute("aria-sort") === "ascending";
      const keys = new Map(rows.map((row) => [row, keyOf(row, column)]));
      rows.sort((one, other) => (isDown ? -1 : 1) * compare(keys.get(one), keys.get(other)));
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      turn(0);
    });
    heading.replaceChildren(sort);
  });

  if (!isWhole) {
    const pages = document.createElement("nav");
    pages.className = "pages";
    pages.setAttribute("aria-label", "Pages of " + what.toLowerCase());
    pages.append(previous, next, toggle, status);
    table.parentElement.after(pages);
  }
  turn(0);
}
`;

/** Rows that a browser shows at a time; without the script it shows all. */
const ROWS = 25;
/** Rows that a browser lays out in no time. */
export const MANY = 1_000;

/**
 * Sorts and pages the long tables, which are whole without it. It builds no
 * markup from text and reads no data but the cells themselves: their raw
 * integers, where they have such, else what they show. The collator compares
 * integers by all of their digits.
 */
export const pageScript = `"use strict";
const collator = new Intl.Collator("en", { numeric: true });
for (const table of document.querySelectorAll("table[data-pages-of]")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const size = ${ROWS};
  const what = table.dataset.pagesOf;
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
    table.toggleAttribute("data-few", end - first <= ${MANY});
    status.textContent = what + " " + group(first + 1) + " to " + group(end) + " of " + group(rows.length);
    previous.disabled = isWhole || first === 0;
    next.disabled = isWhole || end === rows.length;
    toggle.textContent = isWhole ? "Show pages" : "Show all";
  }

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell === undefined ? "" : cell.title || cell.textContent.trim();
  };

  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const sort = button(heading.textContent.trim(), () => {
      const isDown = heading.getAttribute("aria-sort") === "ascending";
      const keys = new Map(rows.map((row) => [row, keyOf(row, column)]));
      rows.sort((one, other) => (isDown ? -1 : 1) * collator.compare(keys.get(one), keys.get(other)));
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

"use strict";
// Tables sort by their headings; long ones get a field that filters their rows.
for (const table of document.querySelectorAll("table[data-sorts]")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.classList.contains("n");
      const key = (row) => row.cells[place].dataset.order;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        const order = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
        return down ? -order : order;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
  if (body.rows.length < 8) continue;
  const label = document.createElement("label");
  label.className = "filter";
  label.append("Filter: " + table.caption.textContent + " ");
  const field = document.createElement("input");
  field.type = "search";
  const count = document.createElement("output");
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = wanted.length ? " " + shown + " of " + body.rows.length : "";
  });
  label.append(field, count);
  table.parentElement.before(label);
}

"use strict";
// Sorting tables, filtering lists and copying the command. Without it the page says the same.
(() => {
  const value = (cell) => {
    const number = Number.parseFloat(cell.dataset.value);
    return Number.isNaN(number) ? cell.textContent.trim().toLowerCase() : number;
  };
  const compare = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b);
  };

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        // Numbers begin with the largest.
        const numeric = head.classList.contains("number");
        const before = head.getAttribute("aria-sort");
        const falling = before ? before === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [value(row.cells[index]), row]);
        rows.sort((a, b) => compare(a[0], b[0]) * (falling ? -1 : 1));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  }

  for (const box of document.querySelectorAll("[data-filter]")) {
    const items = [...box.querySelectorAll("[data-item]")];
    const label = document.createElement("label");
    label.className = "filter";
    label.append("Filter ");
    const input = document.createElement("input");
    input.type = "search";
    const count = document.createElement("output");
    label.append(input, " ", count);
    box.before(label);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const item of items) {
        const text = item.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word));
        item.hidden = !fits;
        found += fits ? 1 : 0;
      }
      count.textContent = words.length ? `${found} of ${items.length}` : "";
      if (words.length) box.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    });
  }

  const command = document.getElementById("command");
  if (command && navigator.clipboard) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    command.after(button);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    });
  }
})();

// A click on a heading sorts by its column, numbers from the largest; another click reverses it. Empty cells stay last.
function sortBy(table, column, ascending) {
  const value = (row) => {
    const cell = row.cells[column];
    return "number" in cell.dataset ? Number(cell.dataset.number) : cell.textContent.trim();
  };
  const words = new Intl.Collator("en", { numeric: true });
  const compare = (one, other) => {
    if (one === "" || other === "") return (one === "") - (other === "");
    const order = typeof one === "number" && typeof other === "number" ? one - other : words.compare(one, other);
    return ascending ? order : -order;
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((one, other) => compare(value(one), value(other))));
  [...table.tHead.rows[0].cells].forEach((cell, index) => {
    if (index === column) cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
}

for (const table of document.querySelectorAll("table[data-sortable]")) {
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    cell.querySelector("button").addEventListener("click", () => {
      const now = cell.getAttribute("aria-sort");
      sortBy(table, column, now ? now === "descending" : !cell.classList.contains("number"));
    });
  });
}

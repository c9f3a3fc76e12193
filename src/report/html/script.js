// Makes tables sortable and opens what is folded for printing; without it the page lacks nothing else.
// "#sort-results-3-descending" in the address orders the table with that id by its fourth column.
"use strict";
(function () {
  function key(row, column) {
    const cell = row.cells[column];
    if (!cell) return null;
    const text = (cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent).trim();
    if (text === "" || text === "-") return null;
    const number = Number(text.replace(/,/g, ""));
    return Number.isNaN(number) ? text : number;
  }

  // Numbers by size, before texts by the alphabet; what is absent comes last in either order.
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  }

  function sort(table, column, order) {
    const body = table.tBodies[0];
    const sign = order === "descending" ? -1 : 1;
    const rows = Array.from(body.rows);
    rows.sort((a, b) => compare(key(a, column), key(b, column), sign));
    rows.forEach((row) => body.appendChild(row));
    Array.from(table.tHead.rows[0].cells).forEach((cell, i) => {
      if (i === column) cell.setAttribute("aria-sort", order);
      else cell.removeAttribute("aria-sort");
    });
  }

  function addButtons(table) {
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "sort by this column";
      button.textContent = cell.textContent;
      button.addEventListener("click", () => {
        sort(table, column, cell.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
      });
      cell.replaceChildren(button);
    });
  }

  function sortAsAddressed() {
    const asked = /^#sort-(.+)-(\d+)(-descending)?$/.exec(location.hash);
    const table = asked && document.getElementById(asked[1]);
    if (!table || !table.tHead || Number(asked[2]) >= table.tHead.rows[0].cells.length) return;
    sort(table, Number(asked[2]), asked[3] ? "descending" : "ascending");
    for (let fold = table.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    table.scrollIntoView();
  }

  document.querySelectorAll("table.sortable").forEach(addButtons);
  sortAsAddressed();
  window.addEventListener("hashchange", sortAsAddressed);
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    folded.forEach((one) => (one.open = true));
  });
  window.addEventListener("afterprint", () => folded.forEach((one) => (one.open = false)));
})();

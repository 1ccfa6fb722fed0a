/* page.js - tables that are sorted by a click on a column's head
 *
 * Without scripts the heads are plain, and the rows stay as they are.  The
 * hash of this file is in head.html; tests/trace/command/test-report.sh
 * compares the two.
 */
(function () {
  "use strict";

  /* What the cell is sorted by: data-v, or its text; "": it comes last. */
  function key(row, column) {
    var cell = row.cells[column];
    if (!cell) return "";
    var value = cell.getAttribute("data-v");
    return value === null ? cell.textContent.trim() : value;
  }

  function compare(a, b, numeric) {
    if (a === "" || b === "") return (a === "") - (b === "");
    return numeric ? a - b : a.localeCompare(b);
  }

  function sort(table, column) {
    var heads = table.tHead.rows[0].cells, head = heads[column];
    var numeric = head.classList.contains("n");
    var first = numeric ? "descending" : "ascending";
    var second = numeric ? "ascending" : "descending";
    var order = head.getAttribute("aria-sort") === first ? second : first;
    var sign = order === "ascending" ? 1 : -1, body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var left = key(a, column), right = key(b, column);
      var last = left === "" || right === "";
      return compare(left, right, numeric) * (last ? 1 : sign);
    });
    rows.forEach(function (row) { body.appendChild(row); });
    for (var i = 0; i < heads.length; i++)
      heads[i].setAttribute("aria-sort", i === column ? order : "none");
  }

  function prepare(table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells,
      function (head, column) {
        var button = document.createElement("button");
        button.type = "button";
        while (head.firstChild) button.appendChild(head.firstChild);
        button.addEventListener("click", function () { sort(table, column); });
        head.appendChild(button);
        head.setAttribute("aria-sort", "none");
      });
  }

  Array.prototype.forEach.call(document.querySelectorAll("table.sorts"),
    prepare);
})();

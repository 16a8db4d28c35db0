"use strict";
// Makes the page interactive. Without this script it shows all tables and static plots.
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const plots = JSON.parse(document.getElementById("data").textContent).plots;
  const styles = 8;
  // In the order of marker_svg() and of the classes f0 to f7.
  const markers = ["circle", "triangle", "rect", "rectRot", "cross", "triangle", "circle", "rect"];
  const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3], [12, 4], [4, 2], [1, 5], [6, 2, 1, 2, 1, 2]];
  const hidden = new Set();
  const charts = new Map();
  root.classList.add("js");
  root.dataset.errors = "";
  window.addEventListener("error", (event) => { root.dataset.errors += event.message + "\n"; });

  // Plots

  function dataset(line) {
    const series = colour("s" + line.backend % styles);
    const marker = line.backend % styles;
    return {
      label: line.name,
      data: line.points,
      hidden: hidden.has(line.name),
      borderColor: series,
      borderWidth: 2,
      borderDash: dashes[line.file % styles],
      backgroundColor: marker >= 6 ? colour("card") : series,
      pointStyle: markers[marker],
      rotation: marker === 5 ? 180 : 0,
      pointBorderColor: marker === 4 || marker >= 6 ? series : colour("card"),
      pointBorderWidth: marker === 4 || marker >= 6 ? 2 : 1,
      radius: 5,
      hoverRadius: 7,
      clip: 8,
      spanGaps: true,
      segment: { borderColor: (at) => line.points[at.p1DataIndex].joined ? undefined : "transparent" },
    };
  }

  function scale(axis, title) {
    const labels = new Map(axis.ticks.map((tick) => [tick.value, tick.label]));
    return {
      type: "logarithmic",
      min: axis.low,
      max: axis.high,
      title: { display: title !== "", text: title, color: colour("soft") },
      grid: { color: colour("grid"), borderColor: colour("soft"), tickLength: 4 },
      afterBuildTicks: (built) => { built.ticks = axis.ticks.map((tick) => ({ value: tick.value })); },
      ticks: { autoSkip: false, maxRotation: 0, color: colour("soft"), callback: (value) => labels.get(value) ?? "" },
    };
  }

  // Red crosses at the lower edge mark sizes without a result.
  const gapMarks = {
    id: "gaps",
    afterDatasetsDraw(chart) {
      const context = chart.ctx;
      context.save();
      context.strokeStyle = colour("bad");
      context.lineWidth = 2;
      context.beginPath();
      for (const gap of chart.options.plot.gaps) {
        const x = chart.scales.x.getPixelForValue(gap.x);
        const y = chart.chartArea.bottom - 7;
        context.moveTo(x - 4, y - 4);
        context.lineTo(x + 4, y + 4);
        context.moveTo(x + 4, y - 4);
        context.lineTo(x - 4, y + 4);
      }
      context.stroke();
      context.restore();
    },
  };

  const shorten = (text) => text.length > 90 ? text.slice(0, 89) + "…" : text;

  function tooltip(plot) {
    return {
      backgroundColor: colour("card"),
      titleColor: colour("text"),
      bodyColor: colour("text"),
      footerColor: colour("bad"),
      borderColor: colour("line"),
      borderWidth: 1,
      padding: 10,
      usePointStyle: true,
      filter: (item) => item.raw.y !== null,
      itemSort: (one, other) => other.parsed.y - one.parsed.y,
      callbacks: {
        title: (items) => plot.sizes[items[0].dataIndex],
        label: (item) => " " + item.dataset.label + "   " + item.raw.text,
        footer: (items) => plot.gaps.filter((gap) => gap.x === items[0].raw.x).map((gap) => "✕ " + shorten(gap.text)),
      },
    };
  }

  function draw(figure) {
    if (typeof Chart === "undefined" || charts.has(figure) || figure.offsetParent === null) return;
    const plot = plots[Number(figure.dataset.plot)];
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", plot.title + " by message size");
    figure.querySelector(".frame").append(canvas);
    figure.classList.add("live");
    charts.set(figure, new Chart(canvas, {
      type: "line",
      data: { datasets: plot.lines.map(dataset) },
      plugins: [gapMarks],
      options: {
        plot: { gaps: plot.gaps },
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        scales: { x: scale(plot.x, "message size"), y: scale(plot.y, "") },
        plugins: { legend: { display: false }, tooltip: tooltip(plot) },
      },
    }));
  }

  function drawVisible() {
    all("figure[data-plot]").forEach(draw);
    root.dataset.charts = charts.size;
  }

  // The charts copy the colours, so that another theme needs new charts.
  function drawAgain() {
    for (const [figure, chart] of charts) {
      chart.destroy();
      figure.querySelector("canvas").remove();
    }
    charts.clear();
    drawVisible();
  }

  function toggleSeries(name) {
    if (!hidden.delete(name)) hidden.add(name);
    for (const key of all(".key")) key.setAttribute("aria-pressed", String(!hidden.has(key.dataset.series)));
    for (const line of all("g.line")) line.style.display = hidden.has(line.dataset.series) ? "none" : "";
    for (const chart of charts.values()) {
      chart.data.datasets.forEach((line, index) => chart.setDatasetVisibility(index, !hidden.has(line.label)));
      chart.update();
    }
  }

  // Choices of the reader

  function chooseBaseline(name) {
    for (const figure of all("figure[data-baseline]")) figure.hidden = figure.dataset.baseline !== name;
    drawVisible();
  }

  function choosePanel(id) {
    for (const panel of all(".panel")) panel.hidden = panel.id !== id;
    for (const link of all(".tabs a")) link.setAttribute("aria-current", String(link.hash === "#" + id));
    drawVisible();
  }

  function followHash() {
    const panel = all(".panel").find((one) => "#" + one.id === location.hash);
    if (panel) choosePanel(panel.id);
  }

  const themes = ["system", "light", "dark"];
  function chooseTheme(theme) {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    document.getElementById("theme").textContent = "Theme: " + theme;
    drawAgain();
  }

  // Tables

  function cellAt(row, column) {
    let position = 0;
    for (const cell of row.cells) {
      position += cell.colSpan;
      if (position > column) return cell;
    }
    return null;
  }

  // Numbers sort before texts, empty cells come last in both directions.
  function compareCells(one, other, sign) {
    const number = [one, other].map((cell) => parseFloat(cell?.dataset.value ?? "nan"));
    if (!isNaN(number[0]) && !isNaN(number[1])) return sign * (number[0] - number[1]);
    if (isNaN(number[0]) !== isNaN(number[1])) return isNaN(number[0]) ? 1 : -1;
    return sign * (one?.textContent ?? "").localeCompare(other?.textContent ?? "", undefined, { numeric: true });
  }

  function sortTable(table, head, column) {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((one, other) => compareCells(cellAt(one, column), cellAt(other, column), ascending ? 1 : -1));
    table.tBodies[0].append(...rows);
  }

  function makeSortable(table) {
    const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
    heads.forEach((head, column) => {
      head.setAttribute("aria-sort", "none");
      head.tabIndex = 0;
      head.addEventListener("click", () => sortTable(table, head, column));
      head.addEventListener("keydown", (event) => { if (event.key === "Enter") sortTable(table, head, column); });
    });
  }

  // Start

  all("table:not(.fixed)").forEach(makeSortable);
  all(".key").forEach((key) => key.addEventListener("click", () => toggleSeries(key.dataset.series)));
  all("details").forEach((details) => { details.open = false; });
  window.addEventListener("beforeprint", () => all("details").forEach((details) => { details.open = true; }));
  window.addEventListener("hashchange", followHash);
  document.getElementById("baseline").addEventListener("change", (event) => chooseBaseline(event.target.value));
  document.getElementById("theme").addEventListener("click", () => {
    chooseTheme(themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length]);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAgain);
  if (typeof Chart !== "undefined") Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const first = document.querySelector(".panel");
  if (first) choosePanel(first.id);
  followHash();
  const theme = new URLSearchParams(location.search).get("theme");
  if (themes.includes(theme)) chooseTheme(theme);
})();

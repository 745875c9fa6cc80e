// Two charts over time, drawn by uPlot, each with a table of the same figures.
"use strict";

// Distances of time labels, in seconds: from a second to thirty days.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

// 24 hours, in the browser's time zone.
const clock = (time) => new Date(time).toLocaleTimeString("en-GB");

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// `series`: one { label, column, color, scale, format } per line. Values come by columns, as the
// stream sends them.
function makeChart(place, table, series) {
  let plot = null;
  let history = { times: [], columns: {} };

  const data = () => [
    history.times.map((time) => time / 1000),
    ...series.map((one) => history.columns[one.column] || []),
  ];

  const axis = (more) => ({
    stroke: color("--muted"),
    grid: { stroke: color("--grid"), width: 1 },
    ticks: { stroke: color("--grid"), width: 1 },
    font: "12px system-ui, sans-serif",
    ...more,
  });

  // A run of hours needs no seconds, a run of days needs the day.
  function timeLabel(time) {
    const hours = (history.times[history.times.length - 1] - history.times[0]) / 3.6e6;
    const at = new Date(time * 1000);
    const text = clock(at);
    if (hours < 1) return text;
    if (hours < 36) return text.slice(0, 5);
    return `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${text.slice(0, 5)}`;
  }

  function options(width) {
    const scales = [...new Set(series.map((one) => one.scale))];
    const narrow = width < 420;
    return {
      width,
      height: narrow ? 190 : 220,
      cursor: { drag: { x: false, y: false }, focus: { prox: 24 } },
      legend: { live: true },
      scales: Object.fromEntries(scales.map((name) => [name, { range: (_, __, most) => [0, Math.max(most * 1.08, 1)] }])),
      axes: [
        axis({ space: 80, incrs: STEPS, values: (_, ticks) => ticks.map(timeLabel) }),
        ...scales.map((name, index) => {
          const format = series.find((one) => one.scale === name).format;
          return axis({
            scale: name,
            side: index === 0 ? 3 : 1,
            size: narrow ? 52 : 62,
            grid: { show: index === 0, stroke: color("--grid"), width: 1 },
            values: (_, ticks) => ticks.map((tick) => format(tick).replace(/\.0+(?= |$)/, "")),
          });
        }),
      ],
      series: [
        { label: "Time", value: (_, time) => (time == null ? "–" : clock(time * 1000)) },
        ...series.map((one) => ({
          label: one.label,
          scale: one.scale,
          stroke: color(one.color),
          width: 2,
          dash: one.dash,
          points: { show: history.times.length < 3, size: 6 },
          value: (_, value) => (value == null ? "–" : one.format(value)),
        })),
      ],
    };
  }

  function build() {
    const width = Math.max(place.clientWidth, 200);
    if (plot) plot.destroy();
    plot = new uPlot(options(width), data(), place);
    for (const head of place.querySelectorAll(".u-legend th")) head.scope = "row";
    showLast();
  }

  // Where nobody points at a moment, the legend shows the last one.
  function showLast() {
    requestAnimationFrame(() => {
      const pointed = plot.cursor.left != null && plot.cursor.left >= 0;
      if (!pointed) plot.setLegend({ idx: history.times.length - 1 });
    });
  }

  function fillTable() {
    if (!table.closest("details").open) return;
    const rows = 12;
    const last = history.times.length - 1;
    const step = Math.max(1, Math.ceil((last + 1) / rows));
    const lines = [];
    for (let at = last; at >= 0; at -= step) {
      lines.push([clock(history.times[at]), ...series.map((one) => one.format((history.columns[one.column] || [])[at] ?? 0))]);
    }
    fillPlain(table, ["Time", ...series.map((one) => one.label)], lines);
  }

  table.closest("details").addEventListener("toggle", fillTable);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
  let width = 0;
  new ResizeObserver(() => {
    if (plot && Math.abs(place.clientWidth - width) > 1) {
      width = place.clientWidth;
      build();
    }
  }).observe(place);

  return {
    show(next) {
      const fresh = !plot || (history.times.length < 3) !== (next.times.length < 3);
      history = next;
      if (fresh) build();
      else plot.setData(data());
      showLast();
      fillTable();
    },
  };
}

// Writes a plain table: a row of heads, then rows of texts.
function fillPlain(table, heads, lines) {
  const head = document.createElement("thead");
  const top = head.insertRow();
  for (const text of heads) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    top.append(cell);
  }
  const body = document.createElement("tbody");
  for (const line of lines) {
    const row = body.insertRow();
    for (const text of line) row.insertCell().textContent = text;
  }
  table.replaceChildren(head, body);
}

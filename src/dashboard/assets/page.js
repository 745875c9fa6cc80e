// Listens to the stream of events and shows what it says. Whatever comes from it is text: nothing
// here makes markup of it.
"use strict";

const POINTS_MAX = 1440;
const byId = (id) => document.getElementById(id);

const number = (n) => Math.round(n).toLocaleString("en");
const short = (n) => (n >= 100 ? number(n) : n >= 10 ? n.toFixed(1) : n.toFixed(n === 0 ? 0 : 2));
const sumOf = (counts) => counts.reduce((sum, n) => sum + n, 0);
const compact = (n) => new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(n);
const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : "–");

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1000 && unit + 1 < units.length) {
    n /= 1000;
    unit += 1;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

function span(ms) {
  const s = ms / 1000;
  if (s < 1) return `${Math.round(ms)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// Changes a text only if it is another one: selections and screen readers are left alone.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function element(kind, text, className) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Brings the body of a table to as many rows as there are to show, each made by `make`; without any
// it has one cell that says why. Rows are kept and changed in place. Returns the rows to fill.
function rowsOf(table, count, columns, empty, make) {
  const body = table.tBodies[0] || table.appendChild(document.createElement("tbody"));
  const bare = body.dataset.empty === "yes";
  body.dataset.empty = count ? "no" : "yes";
  if (!count) {
    if (bare) return [];
    const row = document.createElement("tr");
    const cell = element("td", empty, "none");
    cell.colSpan = columns;
    row.append(cell);
    body.replaceChildren(row);
    return [];
  }
  if (bare) body.replaceChildren();
  while (body.rows.length > count) body.rows[body.rows.length - 1].remove();
  while (body.rows.length < count) body.append(make());
  return body.rows;
}

function barRow() {
  const row = document.createElement("tr");
  const head = element("th");
  head.scope = "row";
  const bar = element("td", undefined, "bar");
  bar.setAttribute("aria-hidden", "true");
  bar.append(element("span"));
  row.append(head, bar, element("td", undefined, "number"));
  return row;
}

// A table of bars: rows of [label, value, shown, tone].
function bars(table, caption, rows, empty) {
  say(table.caption || table.createCaption(), caption);
  table.caption.hidden = caption === "";
  const places = rowsOf(table, rows.length, 3, empty, barRow);
  const most = Math.max(1, ...rows.map((row) => row[1]));
  rows.forEach(([label, value, shown, tone], index) => {
    const [head, bar, figure] = places[index].children;
    say(head, label);
    say(figure, shown);
    const width = `${Math.round((1000 * value) / most) / 10}%`;
    if (bar.firstChild.style.width !== width) bar.firstChild.style.width = width;
    bar.firstChild.hidden = value === 0;
    bar.firstChild.dataset.tone = tone || "";
  });
}

// A table of rows: `columns` are { head, className, tone(row), text(row) }.
function list(table, columns, rows, empty) {
  if (!table.tHead) {
    const top = table.createTHead().insertRow();
    for (const column of columns) {
      const head = element("th", column.head, column.className);
      head.scope = "col";
      top.append(head);
    }
  }
  const places = rowsOf(table, rows.length, columns.length, empty, () => {
    const row = document.createElement("tr");
    for (const column of columns) {
      const cell = element("td", undefined, column.className);
      cell.append(element(column.code ? "code" : "span"));
      row.append(cell);
    }
    return row;
  });
  rows.forEach((row, index) => {
    columns.forEach((column, at) => {
      const inner = places[index].cells[at].firstChild;
      say(inner, column.text(row));
      if (column.tone) {
        inner.className = "word";
        inner.dataset.tone = column.tone(row);
      }
    });
  });
}

// The page may be older than the crawl that it looks at: what it does not know it shows as it is.
const known = (words, key, otherwise) => (Object.hasOwn(words, key) ? words[key] : otherwise);

const HOST_WORDS = {
  idle: ["idle", ""],
  fetching: ["being asked", "good"],
  ready: ["ready", "good"],
  waiting: ["resting", ""],
  "backing-off": ["backing off", "warn"],
  parked: ["parked", "warn"],
  "given-up": ["given up", "bad"],
};

const hostWord = (host) => known(HOST_WORDS, host.state, [host.state, ""]);

const HOST_COLUMNS = [
  { head: "Host", className: "text", text: (host) => host.name },
  { head: "Now", text: (host) => hostWord(host)[0], tone: (host) => hostWord(host)[1] },
  { head: "Waiting", className: "number", text: (host) => number(host.backlog) },
  { head: "Fetched", className: "number", text: (host) => number(host.done) },
  { head: "Received", className: "number", text: (host) => bytes(host.bytes) },
  { head: "Duplicates", className: "number", text: (host) => number(host.duplicates) },
  { head: "Rest", className: "number", text: (host) => span(host.gap_ms) },
  { head: "Next in", className: "number", text: (host) => (host.next_ms ? span(host.next_ms) : "now") },
  { head: "Latency", className: "number", text: (host) => span(host.latency_ms) },
  { head: "429 and 503", className: "number", text: (host) => number(host.busy) },
];

const RULE_TONES = { enforced: "good", shadow: "", candidate: "", suspended: "warn", retired: "bad" };
const RULE_WORDS = {
  enforced: "in force", shadow: "on trial", candidate: "found", suspended: "suspended", retired: "refuted",
};

function evidence(rule) {
  const e = rule.evidence;
  const parts = [`${number(e.documents_same)} documents under both forms, ${number(e.documents_different)} against`];
  const drawn = e.draws_same + e.draws_failed;
  if (drawn) parts.push(`trial ${number(e.draws_same)} of ${number(drawn)}`);
  const audited = e.audits_same + e.audits_failed;
  if (audited) parts.push(`audits ${number(e.audits_same)} of ${number(audited)}`);
  if (e.probes) parts.push(`${number(e.probes)} probes`);
  return parts.join("; ");
}

const RULE_COLUMNS = [
  {
    head: "State",
    text: (rule) => known(RULE_WORDS, rule.state, rule.state),
    tone: (rule) => known(RULE_TONES, rule.state, ""),
  },
  { head: "Saved", className: "number", text: (rule) => number(rule.saved) },
  { head: "Rule", className: "text", code: true, text: (rule) => rule.text },
  { head: "Evidence", className: "text", text: evidence },
  { head: "From", text: (rule) => rule.source ?? "" },
  { head: "Since", text: (rule) => clock(rule.changed) },
  { head: "Id", className: "id", code: true, text: (rule) => rule.id },
];

const CLUSTER_COLUMNS = [
  { head: "Pages", className: "number", text: (cluster) => number(cluster.pages) },
  { head: "First", className: "text", text: (cluster) => cluster.url },
  { head: "Latest", className: "text", text: (cluster) => cluster.newest },
];

const FAULT_COLUMNS = [
  { head: "When", className: "id", text: (fault) => clock(fault.at) },
  { head: "What", className: "text", text: (fault) => fault.what },
  { head: "URL", className: "text", text: (fault) => fault.url },
];

let history = { times: [], columns: {} };
let command = "";
let last = null;
let charts = null;

function figures(view) {
  const c = view.counters;
  const shown = [
    ["Fetched", number(c.done), bytes(c.bytes)],
    ["Pages a second", short(view.rate), `${bytes(view.bytes_rate)}/s`],
    ["Waiting", number(c.queued), `${number(c.in_flight)} in flight`],
    ["Discovered", number(c.discovered), `${number(c.known)} known, ${number(c.refused)} refused`],
    ["Hosts", number(view.hosts_known), `${number(view.hosts_ready)} ready of ${number(view.hosts_active)}`],
    ["Saved by rules", number(c.suppressed), `${percent(c.suppressed, c.suppressed + c.done)} of fetches`],
    ["Failed", number(c.failed), `${number(c.retries)} tried again`],
    ["Running for", span(view.at - view.began), view.disk_free === null ? "" : `${bytes(view.disk_free)} disk free`],
  ];
  const place = byId("figures");
  while (place.children.length < shown.length) {
    const group = document.createElement("div");
    group.append(element("dt"), element("dd"), element("dd", undefined, "note"));
    place.append(group);
  }
  shown.forEach((texts, index) => texts.forEach((text, at) => say(place.children[index].children[at], text)));
}

function remaining(view) {
  const { floor_ms: floor, ceiling_ms: ceiling } = view.remaining;
  if (view.ended || view.counters.queued === 0) return "";
  const [from, to] = [span(floor), ceiling === null ? null : span(ceiling)];
  const left = to === null ? `At least ${from} left` : from === to ? `About ${from} left` : `${from} to ${to} left`;
  const range = view.brake.brake === "paused" ? `${left} once it goes on` : left;
  const slow = view.slowest;
  if (!slow || !floor) return `${range}.`;
  return `${range}. The floor is ${slow.host}: ${number(slow.backlog)} waiting, one every ${span(slow.gap_ms)}.`;
}

function spreadRows(counts, bounds, tone) {
  const total = sumOf(counts);
  return counts.map((count, index) => {
    const label = index < bounds.length ? `up to ${span(bounds[index])}` : `over ${span(bounds[index - 1])}`;
    return [label, count, `${number(count)} · ${percent(count, total)}`, tone];
  });
}

// Leaves out what is zero at the far end of a list, so that short lists stay short.
const trimmed = (rows, least) => {
  let end = rows.length;
  while (end > least && rows[end - 1][1] === 0) end -= 1;
  return rows.slice(0, end);
};

function answers(view) {
  const c = view.counters;
  const tones = ["bad", "", "good", "", "warn", "bad"];
  const names = ["below 100", "1xx", "2xx good", "3xx redirect", "4xx client error", "5xx server error"];
  const total = sumOf(c.by_class);
  const classes = names.map((name, index) => [name, c.by_class[index], `${number(c.by_class[index])} · ${percent(c.by_class[index], total)}`, tones[index]]);
  bars(byId("classes"), `${number(total)} answers`, classes.filter((row, index) => index > 1 || row[1]), "no answer yet");
  bars(byId("duplicates"), `of ${number(c.done)} pages`, [
    ["same text", c.duplicates, `${number(c.duplicates)} · ${percent(c.duplicates, c.done)}`, "warn"],
    ["nearly the same", view.tally.near_duplicates, `${number(view.tally.near_duplicates)} · ${percent(view.tally.near_duplicates, c.done)}`, "warn"],
    ["error pages with status 200", c.junk, `${number(c.junk)} · ${percent(c.junk, c.done)}`, "bad"],
  ], "");
  say(byId("duplicates-note"), `${number(c.suppressed)} further URL${c.suppressed === 1 ? " was" : "s were"} not fetched at all: rules say which known text they lead to.`);
  const fetches = sumOf(view.tally.fetch.counts);
  const mean = fetches ? `${number(fetches)} fetches, ${span(view.tally.fetch.sum_ms / fetches)} on average` : "";
  bars(byId("durations"), mean, fetches ? trimmed(spreadRows(view.tally.fetch.counts, view.bounds.fetch_ms), 1) : [], "no fetch yet");
  const sorted = (pairs) => [...pairs].sort((a, b) => b[1] - a[1]);
  const row = (tone) => ([code, n]) => [code, n, number(n), tone];
  bars(byId("errors"), "", sorted(view.outcomes.errors).map(row("bad")), "none so far");
  list(byId("clusters"), CLUSTER_COLUMNS, view.clusters, "none so far");
  list(byId("faults"), FAULT_COLUMNS, view.faults, "none so far");
  bars(byId("decisions"), "", sorted(view.outcomes.decisions).filter(([code]) => code !== "known").slice(0, 16).map(row("")), "none so far");
}

function queues(view) {
  const pages = (what) => (n, index, all) => {
    const last = what === "depth" && index === all.length - 1;
    const name = what === "depth" ? `${index}${last ? " or more" : ""} link${index === 1 ? "" : "s"}` : index === 0 ? "0 (best)" : String(index);
    return [name, n, number(n), ""];
  };
  const none = "nothing is queued";
  const waits = view.shape.by_depth.some((n) => n > 0);
  // Of a deep queue, depths at which nothing waits would be most of the list.
  const depths = trimmed(view.shape.by_depth.map(pages("depth")), 4);
  bars(byId("depths"), "pages by links from the seed", waits ? depths.filter((row) => depths.length <= 8 || row[1]) : [], none);
  bars(byId("priorities"), "pages by priority", waits ? view.shape.by_priority.map(pages("priority")) : [], none);
  const waiting = sumOf(view.hosts_waiting);
  const hosts = [
    ["ready", view.hosts_ready, "good"],
    ["resting", Math.max(0, view.hosts_active - view.hosts_ready), ""],
    ["waiting for a back queue", waiting, ""],
    ["parked", view.tally.hosts_parked, "warn"],
    ["given up", view.tally.hosts_given_up, "bad"],
  ];
  bars(byId("host-states"), `${number(view.hosts_known)} hosts known`, hosts.map(([label, n, tone]) => [label, n, number(n), tone]), "");
}

function politeness(view) {
  const t = view.tally;
  const place = byId("margin");
  const asked = sumOf(t.margin.counts);
  if (!asked) say(place, "No host was asked twice yet.");
  else if (t.too_early) say(place, `${number(t.too_early)} requests came too early: this must never be. Run crawler audit.`);
  else say(place, `No request of ${number(asked)} came too early; the closest was ${span(t.margin_min_ms)} after its host's rest was over.`);
  bars(byId("margins"), "how much later than required", asked ? trimmed(spreadRows(t.margin.counts, view.bounds.margin_ms, "good"), 1) : [], "");
  const tones = { "retry-after": "warn", backoff: "warn", unreachable: "bad", latency: "warn" };
  const words = {
    "min-delay": "our least delay", "fetch-time": "length of the fetch", "max-delay": "our longest delay",
    "crawl-delay": "Crawl-delay", "retry-after": "Retry-After", backoff: "429 or 503",
    unreachable: "no answer", latency: "slower than usual", local: "a fault of ours",
  };
  const total = sumOf(t.rests);
  const rows = view.bounds.rests.map((name, index) => [words[name] || name, t.rests[index], `${number(t.rests[index])} · ${percent(t.rests[index], total)}`, tones[name]]);
  bars(byId("rests"), `${number(total)} rests`, total ? rows : [], "no rest yet");
}

function state(view) {
  const paused = view.brake.brake === "paused" || view.brake.brake === "disk";
  if (view.ended) return ["ended", `ended: ${view.ended}`];
  return paused ? ["pause", "paused"] : ["run", "running"];
}

function showState(kind, words, announce) {
  const pill = byId("state");
  const changed = pill.dataset.state !== kind;
  pill.dataset.state = kind;
  say(pill, words);
  if (changed && announce) say(byId("said"), announce);
}

function showView(view) {
  const [kind, words] = state(view);
  const before = byId("state").dataset.state;
  const news = { run: before === "wait" ? "" : "The crawl is running.", pause: "The crawl is paused.", ended: `The crawl has ended: ${view.ended}.` };
  showState(kind, words, news[kind]);
  if (before === "lost") say(byId("said"), "Connected again.");
  const button = byId("steer");
  say(button, view.brake.brake === "paused" ? "Resume" : "Pause");
  button.disabled = kind === "ended" || !command;
  button.hidden = kind === "ended";
  say(byId("why-now"), view.why.now);
  say(byId("why-then"), view.why.then);
  say(byId("remaining"), remaining(view));
  figures(view);
  answers(view);
  queues(view);
  politeness(view);
  addPoint(view);
  last = view;
  const title = `${number(view.counters.done)} fetched – ${words}`;
  if (document.title !== title) document.title = title;
}

function addPoint(view) {
  const c = view.counters;
  const row = {
    rate: view.rate, bytes_rate: view.bytes_rate, discovered: c.discovered, done: c.done,
    queued: c.queued + c.in_flight, saved: c.suppressed, failed: c.failed, duplicates: c.duplicates,
  };
  const known = history.times[history.times.length - 1];
  if (known !== undefined && view.at <= known) return draw();
  history.times.push(view.at);
  for (const [name, value] of Object.entries(row)) (history.columns[name] ||= []).push(value);
  if (history.times.length > POINTS_MAX) {
    const odd = (_, index) => index % 2 === 0;
    history.times = history.times.filter(odd);
    for (const name of Object.keys(history.columns)) history.columns[name] = history.columns[name].filter(odd);
  }
  draw();
}

function draw() {
  charts ||= [
    makeChart(byId("chart-rate"), byId("table-rate"), [
      { label: "Pages/s", column: "rate", color: "--series-1", scale: "pages", format: short },
      { label: "Bytes/s", column: "bytes_rate", color: "--series-2", scale: "bytes", format: bytes, dash: [6, 4] },
    ]),
    makeChart(byId("chart-found"), byId("table-found"), [
      { label: "Discovered", column: "discovered", color: "--series-1", scale: "urls", format: compact },
      { label: "Fetched", column: "done", color: "--series-3", scale: "urls", format: compact },
      { label: "Queued", column: "queued", color: "--series-2", scale: "urls", format: compact, dash: [6, 4] },
      { label: "Saved", column: "saved", color: "--series-4", scale: "urls", format: compact, dash: [2, 3] },
    ]),
  ];
  charts.forEach((chart) => chart.show(history));
}

function showRules(book) {
  const [candidate, shadow, enforced, suspended, retired] = book.by_state;
  const rest = [
    [shadow, "on trial"], [candidate, "found and not tested yet"], [suspended, "suspended"], [retired, "refuted"],
  ].filter(([n]) => n > 0).map(([n, words]) => `${number(n)} ${words}`);
  const total = sumOf(book.by_state);
  const shown = total > book.rules.length ? ` The ${number(book.rules.length)} most telling are shown.` : "";
  say(byId("rules-note"), total
    ? `${number(enforced)} in force${rest.length ? `; ${rest.join(", ")}` : ""}. ${number(book.probes)} probe fetches spent.${shown}`
    : "No rule was found yet: a site must first show the same text under several URLs.");
  list(byId("rules-list"), RULE_COLUMNS, book.rules, "no rules yet");
}

function showHosts(hosts) {
  say(byId("hosts-note"), hosts.length ? `${number(hosts.length)} hosts with a back queue, the longest backlogs first.` : "");
  list(byId("hosts-list"), HOST_COLUMNS, hosts, "no host has a back queue now");
}

async function steer() {
  const button = byId("steer");
  const path = button.textContent === "Resume" ? "/api/resume" : "/api/pause";
  button.disabled = true;
  let said = "The crawler does not answer.";
  try {
    const answer = await fetch(path, { method: "POST", headers: { "X-Crawler-Command": command } });
    const body = await answer.json();
    said = answer.ok ? (path === "/api/pause" ? "Paused: what is in flight is being finished." : "Going on.") : `Not done: ${body.problem}.`;
    if (answer.ok) say(button, path === "/api/pause" ? "Resume" : "Pause");
  } catch {
    // The words above say it.
  }
  say(byId("said"), said);
  button.disabled = false;
  button.focus();
}

function listen() {
  const stream = new EventSource("/events");
  const on = (name, show) => stream.addEventListener(name, (event) => show(JSON.parse(event.data)));
  on("hello", (hello) => {
    command = hello.command;
    say(byId("name"), hello.about.name);
    say(byId("about"), `${hello.about.purpose} · ${hello.about.dir}`);
    say(byId("version"), `crawler ${hello.about.version}`);
  });
  on("history", (table) => {
    history = { times: table.times, columns: Object.fromEntries(table.columns.map((name, index) => [name, table.values[index]])) };
    if (history.times.length) draw();
  });
  on("hosts", showHosts);
  on("rules", showRules);
  on("view", (view) => {
    showView(view);
    if (view.ended) stream.close();
  });
  stream.addEventListener("error", () => {
    if (last && last.ended) return;
    byId("steer").disabled = true;
    showState("lost", "not connected", "The connection to the crawler is lost; trying again. The figures are the last ones.");
    // A browser gives up for good when the answer is not a stream.
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  });
}

byId("steer").addEventListener("click", steer);
listen();

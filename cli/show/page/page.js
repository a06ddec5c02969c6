// The live view of hilo top. It draws the events of /events: first the whole state, and then the changes of each poll.
"use strict";

const pageSize = 500; // rows of a table that are drawn initially, and added by each click
const reorderInterval = 3000; // milliseconds between changes of the order that only changed figures cause
const redrawInterval = 10000; // milliseconds after which an unchanged row is drawn again
const maxPoints = 60; // points of a trend
const unknown = "–";
const svg = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

const servers = new Map(); // rows by the name of the server
const tables = {
  collection: newTable("collection", "collections", ["max", "rate", "trend", "ranges", "epoch", "left", "headroom"]),
  identity: newTable("identity", "identities", ["max", "rate", "trend", "epoch", "left", "headroom"]),
};
const order = { key: "", reverse: false, filter: "" }; // chosen by the user
let frame = null; // the newest event
let events = []; // the newest last
let opened = null; // the row whose history is shown

function newTable(kind, id, fields) {
  return { kind, id, fields, rows: new Map(), list: [], drawn: [], limit: pageSize, changed: true, sortedAt: 0 };
}

// parse parses JSON and returns integers of 16 or more digits as strings, since JSON.parse rounds numbers beyond 2^53. A quote
// before a colon ends a key, since quotes within strings follow a backslash.
function parse(text) {
  return JSON.parse(text.replace(/(?<=[^\\]":)-?\d{16,}(?=[,}])/g, '"$&"'));
}

// escapeControls replaces control characters and those that change the direction of text by their codes, such as \u202e.
function escapeControls(text) {
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, (c) => {
    const code = c.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

// brief formats a non-negative number in at most five characters.
function brief(n) {
  let unit = 0;
  for (; n >= 999.5 && unit < 6; unit++) {
    n /= 1000;
  }
  const decimals = n === 0 || n >= 99.95 ? 0 : n >= 9.995 || unit > 0 ? 1 : 2;
  return n.toFixed(decimals) + ["", "k", "M", "G", "T", "P", "E"][unit];
}

// percent formats a share in at most six characters.
function percent(used) {
  if (used === 0 || used === 100) {
    return `${used}%`;
  }
  return used < 0.01 ? "<0.01%" : `${used.toFixed(used < 1 ? 2 : 1)}%`;
}

// usedWidth returns the width of a bar for a share, both in percent. It grows with the square root, so that 0.1, 1, 10 and 60 %
// are told apart.
function usedWidth(used) {
  return used > 0 ? Math.max(10 * Math.sqrt(used), 1) : 0;
}

// short formats a duration with three significant digits.
function short(nanoseconds) {
  const unit = Math.min(3, Math.max(0, Math.floor(Math.log10(nanoseconds || 1) / 3)));
  return Number((nanoseconds / 1000 ** unit).toPrecision(3)) + ["ns", "µs", "ms", "s"][unit];
}

function clock(time) {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

// sinceBegan names the time before which this page knows nothing.
function sinceBegan() {
  return `top began, ${clock(frame.began || frame.time)}`;
}

function formatDuration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) {
    return `${seconds} s`;
  }
  if (seconds < 172800) {
    return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
  }
  return seconds < 4e7 ? `${Math.round(seconds / 86400)} d` : `${brief(seconds / 31557600)} y`;
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function svgElement(name, attributes) {
  const made = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  return made;
}

// setDigits shows an integer in groups of three digits. It adds no separators, so that the number can be copied.
function setDigits(cell, text) {
  const groups = String(text).match(/^-?\d{1,3}(?=(?:\d{3})*$)|\d{3}/g) || [text];
  cell.replaceChildren(...groups.map((group) => element("span", { class: "digits" }, group)));
}

// setText updates a cell if its text changed.
function setText(view, field, text, write) {
  if (view.texts[field] === text) {
    return;
  }
  view.texts[field] = text;
  if (write) {
    write(view.cells[field], text);
  } else {
    view.cells[field].textContent = text;
  }
}

// Events.

function merge(next, whole) {
  if (whole) {
    servers.clear();
    events = [];
    for (const table of Object.values(tables)) {
      for (const row of table.rows.values()) {
        row.gone = true;
      }
    }
  }
  frame = next;
  next.servers.forEach((server, i) => {
    const known = servers.get(server.name) || { position: servers.size };
    servers.set(server.name, Object.assign(known, { position: whole ? i : known.position, facts: server }));
  });
  next.collections.forEach((row) => mergeRow(tables.collection, row));
  next.identities.forEach((row) => mergeRow(tables.identity, row));
  for (const gone of next.removed || []) {
    const table = tables["identity" in gone ? "identity" : "collection"];
    remove(table, keyOf(gone.server, gone[table.kind]));
  }
  if (whole) {
    for (const table of Object.values(tables)) {
      table.rows.forEach((row, key) => row.gone && remove(table, key));
    }
  }
  events = events.concat(next.events).slice(-100);
  const troubles = next.events.filter((event) => event.trouble).map((event) => escapeControls(event.text));
  if (troubles.length > 0 && !whole) {
    $("alarm").textContent = troubles.join(". ");
  }
}

function keyOf(server, name) {
  return JSON.stringify([server, name]);
}

function mergeRow(table, facts) {
  const name = facts[table.kind];
  const key = keyOf(facts.server, name);
  let row = table.rows.get(key);
  if (!row) {
    row = { kind: table.kind, name, server: facts.server, lower: name.toLowerCase(), rates: [], view: null };
    table.rows.set(key, row);
    table.changed = true;
  }
  const alarming = Boolean(facts.low || facts.jumped);
  table.changed ||= row.alarming !== alarming || row.gone;
  row.risen = Boolean(row.facts && row.facts.max !== facts.max);
  Object.assign(row, { facts, alarming, gone: false, changed: true, max: BigInt(facts.max) });
  row.next = nearest(facts.headroom);
  row.critical = facts.headroom.find((h) => h.bound === (facts.alarmBound ?? frame.alarmBound));
  row.rates = facts.rates || row.rates;
  if (!facts.rates) {
    addRate(row.rates, [seconds(), facts.perSecond || 0]);
  }
}

function remove(table, key) {
  const row = table.rows.get(key);
  if (row === opened) {
    opened = null;
  }
  table.changed = table.rows.delete(key) || table.changed;
}

// nearest returns the headroom to the next bound, or null if the last bound, the limit, is reached.
function nearest(headroom) {
  const limit = headroom[headroom.length - 1];
  if (limit.left === 0) {
    return null;
  }
  return headroom.reduce((best, h) => (h.left !== 0 && BigInt(h.left) < BigInt(best.left) ? h : best), limit);
}

// seconds returns the time since the first poll.
function seconds() {
  return (Date.parse(frame.time) - Date.parse(frame.began || frame.time)) / 1000;
}

// addRate adds a point to a trend. It thins out the trend so that the points stay evenly spaced.
function addRate(rates, point) {
  if (rates.length > 1 && point[0] - rates.at(-1)[0] < (rates.at(-1)[0] - rates[0][0]) / (maxPoints / 2)) {
    return;
  }
  if (rates.length >= maxPoints) {
    rates.splice(0, rates.length, ...rates.filter((_, i) => i % 2 === 0));
  }
  rates.push(point);
}

// The order.

const byRate = (a, b) => (b.facts.perSecond || 0) - (a.facts.perSecond || 0);
const byText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byLeft = (a, b) => byText(leftOf(a), leftOf(b));
const orders = {
  "": (a, b) => b.alarming - a.alarming || (a.alarming && byText(criticalLeft(a), criticalLeft(b))) || byRate(a, b),
  name: (a, b) => byText(a.lower, b.lower),
  server: (a, b) => byText(a.server, b.server),
  max: (a, b) => byText(b.max, a.max),
  rate: byRate,
  ranges: (a, b) => b.facts.ranges - a.facts.ranges,
  epoch: (a, b) => b.facts.epoch - a.facts.epoch,
  left: byLeft,
  used: (a, b) => usedOf(b) - usedOf(a),
};

// usedBound returns the headroom of which a row shows the used share: to the bound that alarms if it does, or to the next one.
function usedBound({ facts, critical, next }) {
  return facts.low ? critical : next;
}

function usedOf(row) {
  return usedBound(row)?.usedPercent ?? 100;
}

function leftOf(row) {
  return row.next ? Number(row.next.secondsLeft ?? Infinity) : 0;
}

function criticalLeft({ critical }) {
  return critical.left === 0 ? 0 : Number(critical.secondsLeft ?? Infinity);
}

// arrange filters and sorts a table. It does so at once after a change of the set of rows, and otherwise only after an interval,
// since rows that move constantly are unreadable.
function arrange(table) {
  const now = performance.now();
  const body = $(table.id).tBodies[0];
  if (!table.changed && (now - table.sortedAt < reorderInterval || body.matches(":hover") || body.contains(document.activeElement))) {
    return;
  }
  const wanted = order.filter.toLowerCase();
  const by = orders[table.kind === "identity" && order.key === "ranges" ? "" : order.key];
  const sign = order.reverse ? -1 : 1;
  table.list = [...table.rows.values()].filter((row) => row.lower.includes(wanted));
  table.list.sort((a, b) => sign * by(a, b) || byText(a.lower, b.lower) || byText(a.server, b.server));
  table.changed = false;
  table.sortedAt = now;
}

// Drawing.

let drawRequested = false;

function draw() {
  if (!drawRequested) {
    drawRequested = true;
    requestAnimationFrame(() => {
      drawRequested = false;
      if (frame) {
        drawAll();
      }
    });
  }
}

function drawAll() {
  $("namespace").textContent = escapeControls(frame.namespace);
  for (const [name, figure] of Object.entries(frame.summary)) {
    const box = $(`figure-${name}`);
    box.classList.toggle("alarming", figure.alarm);
    box.querySelector(".value").textContent = escapeControls(figure.figure);
    box.querySelector(".detail").textContent = escapeControls(figure.detail);
  }
  const alarming = Object.values(frame.summary).some((figure) => figure.alarm);
  document.title = `${alarming ? "! " : ""}${escapeControls(frame.summary.servers.figure)} · hilo top`;
  drawServers();
  Object.values(tables).forEach(drawTable);
  const newest = events.slice(-20).reverse();
  const shown = newest.map((event) => event.time + event.text).join("\n");
  if ($("events").dataset.shown !== shown) {
    $("events").dataset.shown = shown;
    $("events").replaceChildren(
      ...newest.map((event) =>
        element("li", { class: event.trouble ? "trouble" : "" }, element("time", {}, clock(event.time)), escapeControls(event.text)),
      ),
    );
  }
  if (newest.length === 0) {
    $("events").replaceChildren(element("li", {}, `No events since ${sinceBegan()}.`));
  }
}

const serverFields = [
  "state", "since", "prefix", "tag", "home", "durable", "version", "role", "replicas", "memory", "persistence", "latency",
];

function drawServers() {
  const rows = [...servers.values()].sort((a, b) => a.position - b.position);
  for (const row of rows) {
    const facts = row.facts;
    row.view ||= newView({ "data-server": facts.name }, facts.name, serverFields);
    row.view.tr.classList.toggle("down", facts.state === "down");
    row.view.tr.classList.toggle("alarming", facts.state === "down" || facts.role === "replica" || facts.noSettings || facts.corrupt > 0);
    row.view.tr.title = facts.fault || "";
    const corrupt = facts.corrupt > 0 ? `${facts.corrupt} corrupt keys: see hilo list` : facts.noSettings ? "no settings: see hilo doctor" : "";
    const texts = {
      state: facts.state,
      since: [facts.since && (facts.sinceBegan ? sinceBegan() : clock(facts.since)), facts.brief || corrupt].filter(Boolean).join(": "),
      prefix: facts.prefix,
      tag: facts.tag,
      home: facts.identities ? "home" : "",
      durable: facts.durable,
      version: facts.version,
      role: facts.role,
      replicas: String(facts.replicas),
      memory: facts.memoryPolicy,
      persistence: facts.persistence,
      latency: facts.latencyNanoseconds ? short(facts.latencyNanoseconds) : "",
    };
    serverFields.forEach((field) => setText(row.view, field, escapeControls(texts[field] || unknown)));
  }
  placeRows($("servers").tBodies[0], rows.map((row) => row.view.tr));
}

function newView(attributes, name, fields) {
  const tr = element("tr", { role: "row", ...attributes });
  const head = element("th", { scope: "row", role: "rowheader" }, element("bdi", {}, escapeControls(name)));
  tr.append(head);
  const cells = {};
  for (const field of fields) {
    cells[field] = element("td", { role: "cell", "data-field": field });
    tr.append(cells[field]);
  }
  return { tr, head, cells, texts: {} };
}

function drawTable(table) {
  arrange(table);
  const several = servers.size > 1;
  $(table.id).classList.toggle("one-server", !several);
  $("sort").querySelector("[value=server]").hidden = !several;
  const drawn = table.list.slice(0, table.limit);
  const elements = [];
  const now = performance.now();
  for (const row of drawn) {
    row.view ||= newCounterView(table, row, several);
    if (row.changed || now - row.view.drawnAt > redrawInterval) { // its trend also changes with time
      row.view.drawnAt = now;
      drawRow(row);
      row.changed = false;
    }
    drawStatus(row);
    elements.push(row.view.tr);
    if (row === opened) {
      row.view.history ||= newHistory(row);
      elements.push(row.view.history);
    }
  }
  const body = $(table.id).tBodies[0];
  if (drawn.length === 0) {
    const text = table.rows.size > 0 ? "No name contains the filter." : `No ${table.id} in this namespace yet.`;
    elements.push(element("tr", { role: "row" }, element("td", { role: "cell", colspan: "9", class: "none" }, text)));
  }
  placeRows(body, elements);
  for (const row of table.drawn) {
    if (!row.view.tr.isConnected) {
      row.view = null;
    }
  }
  table.drawn = drawn;
  const hidden = table.list.length - drawn.length;
  $(`${table.id}-more`).textContent = hidden > 0 ? `and ${hidden} more` : "";
  $(`${table.id}-show`).hidden = hidden <= 0;
}

function newCounterView(table, row, several) {
  const attributes = { [`data-${row.kind}`]: row.name };
  if (several) {
    attributes["data-of"] = row.server;
  }
  const view = newView(attributes, row.name, ["server", ...table.fields]);
  view.drawnAt = -redrawInterval;
  view.button = element("button", { type: "button", "aria-expanded": "false" }, element("bdi", {}, escapeControls(row.name)));
  view.head.replaceChildren(view.button);
  view.cells.server.textContent = escapeControls(row.server);
  view.tr.addEventListener("click", () => {
    if (String(getSelection()) === "") { // selecting text is no click
      toggle(row);
    }
  });
  view.line = svgElement("polyline", {});
  const trend = svgElement("svg", { class: "trend", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" });
  trend.append(view.line);
  view.cells.trend.append(trend);
  view.share = svgElement("rect", { class: "share", height: "10", rx: "2" });
  const bar = svgElement("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(svgElement("rect", { class: "all", width: "100", height: "10", rx: "2" }), view.share);
  view.used = element("p", {});
  view.cells.headroom.append(element("div", { class: "used" }, bar, view.used));
  return view;
}

function drawRow(row) {
  const { facts, view } = row;
  setText(view, "max", String(facts.max), setDigits);
  setText(view, "rate", facts.perSecond === undefined ? unknown : brief(facts.perSecond));
  if (view.cells.ranges) {
    setText(view, "ranges", String(facts.ranges), setDigits);
  }
  setText(view, "epoch", String(facts.epoch));
  view.cells.max.title = facts.ceiling === 0 ? "" : `ceiling ${grouped(facts.ceiling)}`;
  view.cells.epoch.title = facts.jumped ? jumpText(facts.jumped) : "";
  setText(view, "left", facts.left);
  const bound = usedBound(row)?.bound ?? "the limit";
  setText(view, "headroom", `${percent(usedOf(row))} of ${bound}`, (cell, text) => {
    view.share.setAttribute("width", usedWidth(usedOf(row)).toFixed(1));
    view.used.replaceChildren(percent(usedOf(row)), element("span", { class: "unseen" }, ` of ${bound}`));
    cell.title = `${text}; the bar grows with the square root`;
  });
  const points = pointsOf(row.rates, facts.perSecond || 0, 100, 20);
  if (view.texts.trend !== points) {
    view.texts.trend = points;
    view.line.setAttribute("points", points);
  }
  const marks = [facts.jumped && `jumped ${signed(facts.jumped.by)}`, facts.low && "little left"].filter(Boolean);
  if (view.texts.marks !== marks.join()) {
    view.texts.marks = marks.join();
    view.head.replaceChildren(view.button, ...marks.map((text) => element("span", { class: "mark" }, text)));
    view.tr.classList.toggle("alarming", marks.length > 0);
  }
}

// drawStatus draws the state of a row that is not part of its facts.
function drawStatus(row) {
  const server = servers.get(row.server);
  const old = Boolean(server && server.facts.state === "down");
  const status = `${old} ${row.risen} ${row === opened}`;
  if (row.view.texts.status !== status) {
    row.view.texts.status = status;
    row.view.tr.classList.toggle("old", old);
    row.view.tr.classList.toggle("risen", row.risen);
    row.view.button.setAttribute("aria-expanded", String(row === opened));
  }
}

function jumpText(jump) {
  return `${clock(jump.time)}: ${signed(jump.by)}, epoch ${jump.epoch}: ${jump.evidence}`;
}

function grouped(number) {
  return BigInt(number).toLocaleString("en");
}

function signed(number) {
  return (BigInt(number) < 0n ? "" : "+") + grouped(number);
}

// pointsOf returns the points of a polyline of rates over time.
function pointsOf(rates, rate, width, height) {
  const now = seconds();
  const all = [...rates, [Math.max(now, rates.length > 0 ? rates.at(-1)[0] : 0), rate]];
  const first = all[0][0];
  const span = Math.max(all.at(-1)[0] - first, 1);
  const greatest = Math.max(...all.map((point) => point[1]));
  if (greatest === 0) {
    return "";
  }
  return all
    .map(([at, value]) => `${(((at - first) / span) * width).toFixed(1)},${(height - 1 - (value / greatest) * (height - 2)).toFixed(1)}`)
    .join(" ");
}

// placeRows makes elements the rows of a table. It moves few of them and keeps the focus.
function placeRows(body, elements) {
  const focused = document.activeElement;
  let at = body.firstElementChild;
  for (const wanted of elements) {
    if (at && at !== wanted && at.nextElementSibling === wanted) {
      const skipped = at;
      at = wanted;
      skipped.remove();
    }
    if (at === wanted) {
      at = at.nextElementSibling;
    } else {
      body.insertBefore(wanted, at);
    }
  }
  while (at) {
    const rest = at;
    at = at.nextElementSibling;
    rest.remove();
  }
  if (focused && focused !== document.activeElement && body.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}

// History.

function toggle(row) {
  opened = opened === row ? null : row;
  if (opened) {
    opened.view.history = newHistory(row);
    loadHistory();
  }
  draw();
}

function newHistory(row) {
  const span = tables[row.kind].fields.length + 2;
  return element("tr", { class: "history", role: "row" }, element("td", { role: "cell", colspan: span }, "…"));
}

async function loadHistory() {
  const row = opened;
  if (!row || !row.view || !row.view.history) {
    return;
  }
  const query = new URLSearchParams({ server: row.server, [row.kind]: row.name });
  try {
    const response = await fetch(`history?${query}`);
    if (response.ok && row === opened && row.view) {
      drawHistory(row, parse(await response.text()));
    }
  } catch {
    // The event connection reports the failure.
  }
}

// boundText describes the headroom to a bound.
function boundText(h, alarms) {
  const time = h.secondsLeft === undefined || h.left === 0 ? "" : `, ${formatDuration(h.secondsLeft * 1000)} at this rate`;
  return `${grouped(h.left)} left to ${h.bound}, ${h.usedPercent}% used${time}${h.bound === alarms ? " (alarms)" : ""}`;
}

function drawHistory(row, history) {
  const { readings, jumps } = history;
  const began = readings.length > 0 ? readings[0].time : frame.time;
  const greatest = Math.max(...readings.map((reading) => reading.perSecond), 0);
  const rates = readings.map((r) => [(Date.parse(r.time) - Date.parse(frame.began)) / 1000, r.perSecond]);
  const line = svgElement("polyline", { points: pointsOf(rates, row.facts.perSecond || 0, 100, 20) });
  const trend = svgElement("svg", { class: "trend", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img" });
  trend.setAttribute("aria-label", `Reserved since ${clock(began)}, at most ${brief(greatest)} a second`);
  trend.append(line);
  const list = jumps.map((jump) => element("li", {}, jumpText(jump)));
  const lines = readings.slice(-8).reverse().map((r) => {
    const cells = [clock(r.time), grouped(r.max), ...(row.kind === "identity" ? [] : [grouped(r.ranges)]), brief(r.perSecond)];
    return element("tr", {}, ...cells.map((text, i) => element("td", i > 0 ? { class: "number" } : {}, String(text))));
  });
  const heads = ["Time", "Max", ...(row.kind === "identity" ? [] : ["Ranges"]), "Reserved/s"];
  const jumpsTitle = jumps.length > 0 ? "Jumps" : `No jump since ${sinceBegan()}`;
  const bounds = row.facts.headroom.map((h) =>
    element("li", {}, boundText(h, row.critical.bound)),
  );
  const { ceiling, max } = row.facts;
  if (BigInt(ceiling) > BigInt(max)) {
    bounds.unshift(element("li", {}, `${grouped(BigInt(ceiling) - BigInt(max))} left to its ceiling, ${grouped(ceiling)}`));
  }
  const titles = heads.map((text, i) => element("th", { scope: "col", class: i > 0 ? "number" : "" }, text));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...lines));
  row.view.history.firstElementChild.replaceChildren(
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h3", {}, `Reserved since ${clock(began)}, at most ${brief(greatest)}/s`), trend),
      element("div", {}, element("h3", {}, "Readings"), table),
      element("div", {}, element("h3", {}, jumpsTitle), element("ul", {}, ...list), element("h3", {}, "Headroom"), element("ul", {}, ...bounds)),
    ),
  );
}

// The user's order and filter. They are part of the URL, so that a link shows the same view.

function saveOrder() {
  const chosen = new URLSearchParams();
  if (order.filter) {
    chosen.set("filter", order.filter);
  }
  if (order.key) {
    chosen.set("sort", (order.reverse ? "-" : "") + order.key);
  }
  const text = chosen.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}

function loadOrder() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  const sort = chosen.get("sort") || "";
  order.filter = $("filter").value = chosen.get("filter") || "";
  order.reverse = sort.startsWith("-");
  order.key = Object.hasOwn(orders, sort.replace("-", "")) ? sort.replace("-", "") : "";
}

function sortBy(key) {
  order.reverse = order.key === key && key !== "" && !order.reverse;
  order.key = key;
  rearrange();
}

function rearrange() {
  for (const table of Object.values(tables)) {
    table.changed = true;
  }
  showOrder();
  saveOrder();
  draw();
}

// ascending holds the keys that are sorted in ascending order at first.
const ascending = new Set(["name", "server", "left"]);

function showOrder() {
  const rises = ascending.has(order.key) !== order.reverse;
  $("unsort").hidden = $("reverse").hidden = order.key === "";
  $("sort").value = order.key;
  $("reverse").textContent = rises ? "↑" : "↓";
  $("reverse").setAttribute("aria-label", `Reverse the order, ${rises ? "ascending" : "descending"} now`);
  for (const head of document.querySelectorAll("[data-sort]")) {
    if (head.dataset.sort === order.key) {
      head.setAttribute("aria-sort", rises ? "ascending" : "descending");
    } else {
      head.removeAttribute("aria-sort");
    }
  }
}

function addListeners() {
  for (const head of document.querySelectorAll("[data-sort]")) {
    const button = element("button", { type: "button" }, head.textContent);
    head.addEventListener("click", () => sortBy(head.dataset.sort)); // includes clicks on the button
    head.replaceChildren(button);
  }
  for (const head of $("collections").querySelectorAll("[data-sort]")) { // narrow screens show no heads
    $("sort").append(element("option", { value: head.dataset.sort }, head.textContent.toLowerCase()));
  }
  $("sort").addEventListener("change", () => sortBy($("sort").value));
  $("reverse").addEventListener("click", () => sortBy(order.key));
  $("unsort").addEventListener("click", () => sortBy(""));
  $("filter").addEventListener("input", () => {
    order.filter = $("filter").value;
    rearrange();
  });
  for (const table of Object.values(tables)) {
    $(`${table.id}-show`).addEventListener("click", () => {
      table.limit += pageSize;
      draw();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== $("filter") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      $("filter").focus();
    } else if (event.key === "Escape" && document.activeElement === $("filter")) {
      $("filter").value = order.filter = "";
      rearrange();
    }
  });
  addEventListener("hashchange", () => {
    loadOrder();
    rearrange();
  });
}

// Connection. A timer checks it, because a silent connection reports no error.

const connection = { source: null, receivedAt: Date.now(), lostAt: 0, reason: "", retryAt: 0 };

function connect() {
  if (connection.source) {
    connection.source.close();
  }
  const source = new EventSource("events");
  let whole = true; // the first event of a connection holds the whole state
  connection.source = source;
  connection.retryAt = Date.now() + 15000;
  source.onopen = () => {
    whole = true;
  };
  source.onmessage = (message) => {
    connection.receivedAt = Date.now();
    connection.lostAt = 0;
    merge(parse(message.data), whole);
    whole = false;
    showConnection();
    draw();
  };
  source.onerror = () => {
    markLost("hilo top does not answer");
    if (source.readyState === EventSource.CLOSED) { // the browser does not retry
      connection.retryAt = Math.min(connection.retryAt, Date.now() + 2000);
      checkSignIn();
    }
  };
}

// checkSignIn checks whether sign-in is the cause of a refused connection, which EventSource does not report.
async function checkSignIn() {
  try {
    const response = await fetch("state", { method: "HEAD" });
    if (response.status === 401) {
      markLost("this browser is no longer signed in; reload the page");
    }
  } catch {
    // The connection reports the failure.
  }
}

function markLost(reason) {
  connection.lostAt ||= connection.receivedAt;
  connection.reason = reason;
  showConnection();
}

function checkConnection() {
  const now = Date.now();
  const timeout = frame ? 1000 * Math.max(10, 3 * frame.intervalSeconds) : 10000;
  if (now - connection.receivedAt > timeout) {
    markLost(connection.lostAt ? connection.reason : "the connection is silent");
  }
  if (connection.lostAt && now > connection.retryAt) {
    connect();
  }
  showConnection();
}

function showConnection() {
  const lost = connection.lostAt !== 0;
  document.body.classList.toggle("lost", lost);
  let text = "connecting";
  if (lost) {
    text = `lost since ${clock(connection.lostAt)}: ${connection.reason}; retrying`;
  } else if (frame) {
    text = `live, ${clock(frame.time)}`;
  }
  if ($("connection-text").textContent !== text) {
    $("connection-text").textContent = text;
  }
  $("connection").setAttribute("aria-live", lost ? "polite" : "off"); // screen readers need not read the clock every second
}

document.documentElement.classList.add("live");
addListeners();
loadOrder();
showOrder();
connect();
setInterval(checkConnection, 1000);
setInterval(loadHistory, 3000);

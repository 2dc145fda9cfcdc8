// The picture: nodes as places beside each other, queues as rows across them, in each crossing what the node holds.

const role_word = (role) => ({
  master: word("master"), synchronised: word("mirror"), unsynchronised: word("mirror, lacks messages"), mirror: word("mirror"),
  leader: word("leader"), leader_alone: word("leader without a majority"), follower: word("follower"), down: word("down"),
  left_over: word("on disk"), beyond: "", none: word("gone"),
})[role];
const state_word = (state) => ({
  running: word("running"), down: word("down"), waiting: word("waiting"), paused: word("paused"), minority: word("minority"),
  syncing: word("syncing"), gone: word("gone"), "not there": word("not there"),
})[state] ?? state;
const COLOURS = {
  master: "master", synchronised: "held", unsynchronised: "lacking", mirror: "held", leader: "master",
  leader_alone: "master", follower: "held", down: "down", left_over: "down", running: "held", waiting: "lacking", paused: "lacking",
};
const STATES = { running: "●", down: "✕", waiting: "◌", paused: "‖" };
const TYPES = { classic: "■", quorum: "⬢", stream: "≡", metadata: "⬢", gone: "·" };
const colour = (look) => `var(--hawb-${COLOURS[look] ?? "faint"})`;
const glyph = (look, sign) => make("i", { "aria-hidden": "true", style: `color:${colour(look)}`, text: sign });

class Picture {
  constructor(asked) {
    this.asked = asked;
    this.popup = asked.menus !== false && "menu";
    this.grid = make("div", { class: "hs-grid" });
    this.links = draw("svg", { class: "hs-links", "aria-hidden": "true" });
    this.canvas = make("canvas", { class: "hs-flights", "aria-hidden": "true" });
    this.box = make("div", { class: "hs-picture", role: "group" }, this.grid, this.links, this.canvas);
    this.kept = new Kept(this.grid);
    this.box.addEventListener("scroll", () => {
      this.box.classList.toggle("hs-scrolled", this.box.scrollTop > 0);
      this.measure();
    }, { passive: true });
  }

  /** Draws a scene; what has not changed since the last one is left alone. */
  draw(scene, bar) {
    this.scene = scene;
    this.box.setAttribute("aria-label", scene.summary);
    this.box.classList.toggle("hs-compact", !scene.detailed);
    const columns = this.lay_out(scene);
    this.grid.style.setProperty("--rows", Math.max(1, scene.rows.length));
    this.kept.begin();
    this.kept.keep("outside", "", "1 / 1", () =>
      make("div", { class: "hs-outside" }, make("span", { "data-place": "client", text: word("clients") })));
    const end = Math.max(1, scene.rows.length) + 3; // beyond the last row, where there is room
    scene.nodes.forEach((node, at) => {
      const forecast = bar.forecasts[node.name] ?? [];
      this.kept.keep(`ground ${node.name}`, node.state, `1 / ${columns[at]} / ${end} / auto`, () =>
        make("div", { class: `hs-ground hs-${node.state}` }));
      this.kept.keep(`node ${node.name}`, [node, forecast], `1 / ${columns[at]}`, () => this.head(node, forecast));
    });
    scene.sides.slice(1).forEach((_, side) => {
      const at = scene.nodes.findIndex((node) => node.side === side + 1);
      this.kept.keep(`gap ${side}`, scene.noticed, `1 / ${columns[at] - 1} / ${end} / auto`, () =>
        make("div", { class: "hs-gap", title: scene.noticed ? "" : word("no node has noticed yet") }, make("span", { text: scene.noticed ? word("partition") : word("links down") })));
    });
    scene.rows.forEach((row, at) => this.row(row, at + 2, scene, columns, bar));
    this.kept.end();
    this.light(this.lit);
    this.measure();
  }

  /** Lights up what a link of a chain of causes is about; nothing for null. */
  light(link = null) {
    this.lit = link;
    const marked = [...this.grid.querySelectorAll("[data-place]")];
    const places = new Set(marked.map((element) => element.dataset.place));
    for (const element of marked) element.classList.toggle("hs-lit", Boolean(link) && is_about(link, element.dataset.place, places));
  }

  /** Marks the node that a person is invited to act on; none without a name. */
  invite(name = "") {
    this.invited = `node ${name}`;
    for (const node of this.grid.querySelectorAll(".hs-node")) {
      node.classList.toggle("hs-invited", node.dataset.place === this.invited);
    }
  }

  /** The column of each node; between the sides of a partition there is room for a gap. */
  lay_out(scene) {
    const columns = [];
    let tracks = "minmax(8.5em, var(--names, 15em))";
    let next = 2;
    scene.nodes.forEach((node, at) => {
      const apart = at > 0 && scene.sides.length && node.side !== scene.nodes[at - 1].side && node.side !== null;
      if (apart) {
        tracks += " 2.6em";
        next += 1;
      }
      tracks += " minmax(4.6em, 1fr)";
      columns.push(next);
      next += 1;
    });
    if (this.tracks !== tracks) this.grid.style.gridTemplateColumns = this.tracks = tracks;
    return columns;
  }

  head(node, forecast) {
    const was = node.was ? word("was {state}", { state: state_word(node.was) }) : "";
    const changed = was ? make("small", { text: was }) : null;
    const trouble = node.trouble.map((word) => make("em", { text: word }));
    const about = [node.label, state_word(node.state), was, ...node.trouble].filter(Boolean).join(", ");
    const button = make(
      "button",
      { type: "button", class: `hs-node${node.was ? " hs-changed" : ""}${this.invited === `node ${node.name}` ? " hs-invited" : ""}`, "data-place": `node ${node.name}`, title: node.name,
        "aria-haspopup": this.popup, "aria-label": word("node {about}", { about }), onclick: (event) => this.asked.node(node, event.currentTarget) },
      make("b", { text: node.label }),
      make("span", {}, glyph(node.state, STATES[node.state]), ` ${state_word(node.state)}`),
      changed, ...trouble,
    );
    const clients = node.clients.map((client) =>
      make("button", { type: "button", class: `hs-client hs-${client.state}`, title: client.told, "aria-label": client.told,
        onclick: () => this.asked.client(client) },
      make("i", { "aria-hidden": "true", text: client.kind === "publisher" ? "▸" : "◂" }), ` ${client.name}`));
    const told = forecast.map((one) =>
      make("span", { class: one.bad ? "hs-bad" : "", title: one.told, text: `${one.way}: ${one.mark}` }));
    return make("div", { class: "hs-head" }, button, ...clients, told.length ? make("div", { class: "hs-forecast" }, ...told) : null);
  }

  row(row, line, scene, columns, bar) {
    const key = row.queue;
    const chosen = row.queue === bar.queue;
    const about = { ...row, cells: null, chosen };
    this.kept.keep(`queue ${key}`, about, `${line} / 1`, () => this.name(row, chosen));
    scene.nodes.forEach((node, at) => {
      const cell = row.cells[node.name];
      if (!cell) return;
      const value = cell.runs ? [cell, row.first, row.last, row.gone] : cell;
      this.kept.keep(`cell ${key} ${node.name}`, value, `${line} / ${columns[at]}`, () => this.cell(row, node, cell, scene.detailed));
    });
  }

  name(row, chosen) {
    const badges = [];
    if (row.lost) badges.push(make("b", { class: "hs-lost", text: word("▼ {count} lost", { count: whole(row.lost) }) }));
    for (const view of row.views.length ? row.views : [row]) badges.push(...this.state(view));
    const classes = `hs-queue${row.was ? " hs-changed" : ""}${chosen ? " hs-chosen" : ""}`;
    const given = { type: "button", class: classes, title: row.told, "data-place": `queue ${row.queue}`, "aria-label": word("queue {about}", { about: row.told }) };
    const inner = [
      make("span", { class: "hs-name" }, make("i", { "aria-hidden": "true", text: TYPES[row.type] }), ` ${row.label}`, row.policy ? make("small", { text: ` ${row.policy}` }) : null),
      badges.length ? make("span", { class: "hs-badges" }, ...badges) : null,
    ];
    if (row.type === "metadata") return make("button", { ...given, onclick: () => this.asked.choose(row) }, ...inner);
    return make("button", { ...given, "aria-haspopup": this.popup, onclick: (event) => this.asked.queue(row, event.currentTarget) }, ...inner);
  }

  /** What a queue's state is, of a view as its side sees it. */
  state(view) {
    const told = [view.state !== "running" || view.was || view.by ? state_word(view.state) : "",
      view.online && (view.state !== "running" || new Set(view.online.split("/")).size > 1) ? view.online : "",
      view.uncommitted ? word("{count} uncommitted", { count: whole(view.uncommitted) }) : ""].filter(Boolean).join(" ");
    if (!told) return [];
    return [make("span", { class: view.state === "running" ? "" : "hs-state", text: view.by ? word("{nodes}: {state}", { nodes: view.by, state: told }) : told })];
  }

  cell(row, node, cell, detailed) {
    const was = cell.was && (cell.was.role !== cell.role || cell.was.glyph !== cell.glyph)
      ? make("span", { class: "hs-was" }, glyph(cell.was.role, cell.was.glyph), detailed ? ` ${cell.was.count} ` : "", "→ ") : null;
    const held = cell.was && cell.was.count && cell.was.count !== cell.count && !was ? `${cell.was.count} → ` : "";
    const short = cell.lacks ? ` −${cell.lacks}` : "";
    const told = make("span", { class: "hs-told" }, was, glyph(cell.role, cell.glyph),
      make("b", { text: ` ${held}${cell.count}${short}` }),
      detailed ? make("small", { text: [cell.term ? word("term {term}", { term: cell.term }) : "", cell.syncing ? word("syncing") : role_word(cell.role)].filter(Boolean).join(", ") })
        : cell.term ? make("small", { text: ` ${word("term {term}", { term: cell.term })}` }) : null);
    return make(
      "div",
      { class: `hs-cell hs-${cell.role}${cell.was ? " hs-changed" : ""}`, "aria-hidden": "true", "data-place": `cell ${row.queue} ${node.name}`,
        title: `${node.label}: ${cell.told}` },
      told, cell.runs && row.last >= row.first ? this.stack(cell, row) : null,
    );
  }

  /** What a node holds on the numbers of all that any node holds, from the oldest message to the latest. */
  stack(cell, { first, last, gone }) {
    const count = last - first + 1;
    const blocks = cell.runs.map(([from, to]) =>
      draw("rect", { x: from - first, y: 0, width: to - from + 1, height: 1, fill: colour(cell.role) }));
    for (const [from, to] of gone) {
      const [left, right] = [Math.max(from, first), Math.min(to, last)];
      const there = cell.runs.some(([start, end]) => start <= right && end >= left);
      const look = { class: `hs-gone${there ? "" : " hs-hollow"}`, x: left - first, y: 0, width: right - left + 1, height: 1 };
      if (right >= left) blocks.push(draw("rect", look));
    }
    const lines = [];
    if (count <= 60) {
      for (let at = 1; at < count; at += 1) {
        lines.push(draw("path", { d: `M${at} 0V1`, class: "hs-line" }));
      }
    }
    return draw("svg", { class: "hs-stack", viewBox: `0 0 ${count} 1`, preserveAspectRatio: "none" },
      draw("rect", { class: "hs-missing", x: 0, y: 0, width: count, height: 1 }), ...blocks, ...lines);
  }

  /** Where something stands, in the picture's own pixels; null for what is not there. */
  place(name, queue) {
    const wanted = name === "client" ? "client" : queue ? `cell ${queue} ${name}` : `node ${name}`;
    const found = this.places.get(wanted) ?? this.places.get(`node ${name}`);
    return found ?? null;
  }

  /** Measures where everything stands, and draws the links there. */
  measure() {
    this.places = new Map();
    this.stale = true;
    cancelAnimationFrame(this.wanted);
    this.wanted = requestAnimationFrame(() => this.look());
  }

  look() {
    if (!this.stale) return;
    const around = this.grid.getBoundingClientRect();
    if (!around.width) return; // a picture that is hidden has no places
    this.stale = false;
    this.around = around;
    const moving = this.grid.querySelectorAll("[data-place]");
    for (const element of moving) {
      const box = element.getBoundingClientRect();
      this.places.set(element.dataset.place, {
        x: box.left + box.width / 2 - around.left, y: box.top + box.height / 2 - around.top,
        left: box.left - around.left, top: box.top - around.top, width: box.width, height: box.height,
      });
    }
    this.box.classList.toggle("hs-fits", this.box.scrollHeight <= this.box.clientHeight);
    const height = Math.max(around.height, this.box.clientHeight);
    for (const layer of [this.links, this.canvas]) {
      layer.style.width = `${around.width}px`;
      layer.style.height = `${height}px`;
    }
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = around.width * scale;
    this.canvas.height = height * scale;
    this.canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
    connect(this);
    this.measured?.();
  }
}

// The logs of the chosen queue's Raft group beside each other, entry by entry.

class LogView {
  constructor(hide) {
    this.hide = make("button", { type: "button", class: "hs-quiet", text: word("hide the logs"), onclick: hide });
    this.box = make("section", { class: "hs-log", hidden: true, "aria-label": word("Raft logs") });
  }

  draw(log) {
    this.box.hidden = !log;
    if (!log) return this.box.replaceChildren();
    const indices = Array.from({ length: log.last - log.first + 1 }, (_, at) => log.first + at);
    const head = make("tr", {}, ...[word("member"), word("term"), word("vote"), word("commit")].map((text) => make("th", { scope: "col", text })),
      log.first > 1 ? make("th", { scope: "col", text: `1–${log.first - 1}` }) : null,
      ...indices.map((index) => make("th", { scope: "col", class: "hs-index", text: index })));
    const rows = log.members.map((member) => make("tr", {},
      make("th", { scope: "row", title: member.told }, glyph(member.look, member.glyph), ` ${member.node} `, make("small", { text: member.role })),
      make("td", { text: member.term }), make("td", { text: member.vote }), make("td", { text: member.commit }),
      log.first > 1 ? make("td", { class: "hs-earlier", text: member.earlier === log.first - 1 ? word("all") : member.earlier }) : null,
      ...member.entries.map((entry, at) => this.entry(entry, indices[at] === member.commit))));
    this.box.replaceChildren(
      this.hide, make("table", {}, make("caption", { text: log.title }), make("thead", {}, head), make("tbody", {}, ...rows)),
      make("p", { class: "hs-none", text: word("t1: an entry of term 1. Solid: known to be committed; dashed: not known to be committed.") }),
      ...log.waiting.map((text) => make("p", { text })));
    reachable(this.box);
  }

  entry(entry, is_last) {
    if (!entry) return make("td", { class: "hs-entry hs-empty", text: "" });
    const classes = `hs-entry ${entry.committed ? "hs-committed" : "hs-open"}${is_last ? " hs-until" : ""}`;
    return make("td", { class: classes, title: entry.told }, make("b", { text: `t${entry.term}` }), make("span", { text: brief_entry(entry.text) }));
  }
}

/** An entry in a few characters: enqueue(7) is 7. */
function brief_entry(text) {
  const enqueued = /^enqueue\((.*)\)$/.exec(text);
  return enqueued ? enqueued[1] : text.slice(0, 7);
}

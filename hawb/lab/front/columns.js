// The columns: what a person can do, what just happened, why, and what now; above them the verdict.

const hints = () => [
  [word("Click a node"), word("stop it, kill it, start it")],
  [word("Click a queue"), word("publish, synchronise, set a policy")],
  [word("Draw a line between nodes"), word("a partition")],
];
const SIGNS = { lost: "▼", harmed: "◌", well: "✓" };

class Columns {
  /** `on_chain` has what happens when a link of a chain of causes is pointed at, and when it is chosen. */
  constructor(ask, on_chain) {
    Object.assign(this, { ask, on_chain });
    this.verdict = make("div", { class: "hs-verdict", role: "status" });
    this.parts = Object.fromEntries(
      [["can", word("What you can do")], ["happened", word("What just happened")], ["why", word("Why")], ["now", word("What now")]].map(([name, title]) => [
        name, { title, body: make("div", { class: "hs-body", role: "group", "aria-label": title }) },
      ]));
    this.box = make("div", { class: "hs-columns" }, ...Object.entries(this.parts).map(([name, { title, body }]) =>
      make("section", { class: `hs-column hs-${name}`, "aria-label": title }, make("h2", { text: title }), body)));
  }

  /** `at` is the position on the slider of moments. */
  draw(leads, guide, at = null) {
    const { tone, text } = leads.verdict;
    this.verdict.className = `hs-verdict hs-${tone}`;
    refill(this.verdict, make("i", { "aria-hidden": "true", text: SIGNS[tone] }), make("span", { text }));
    this.box.className = `hs-columns hs-${tone}`;
    refill(this.parts.can.body, ...this.can(leads, guide));
    refill(this.parts.happened.body, ...this.happened(leads));
    keep_chip(this.parts.why.body, () => refill(this.parts.why.body, ...this.why(leads, at)));
    refill(this.parts.now.body, ...this.now(leads.now, tone));
    this.fit(leads.happened);
    reachable(...Object.values(this.parts).map(({ body }) => body));
  }

  can(leads, guide) {
    const answers = leads.answers.map((answer) => make("p", { class: "hs-answer", role: "alert", text: answer }));
    if (guide.now) {
      return [...answers, make("div", { class: "hs-guide" },
        make("div", { class: "hs-guide-head" }, make("b", { text: word("{number} of {count}", { number: guide.number, count: guide.count }) }),
          make("button", { type: "button", class: "hs-quiet", text: word("skip the tour"), onclick: guide.skip })),
        make("p", { text: guide.now }),
        guide.kill ? make("button", { type: "button", class: "hs-invitation", text: guide.kill, onclick: () => this.ask({ do: "node", node: guide.node, entry: "kill" }) }) : null)];
    }
    return [...answers, make("ul", { class: "hs-hints" }, ...hints().map(([what, then]) => make("li", {}, make("b", { text: what }), make("span", { text: then }))))];
  }

  happened({ step, happened }) {
    const told = happened.told.map(({ tone, glyph: sign, text, t }) =>
      make("li", { class: `hs-${tone}` }, make("i", { "aria-hidden": "true", text: sign || "·" }), make("span", { text }), make("time", { text: word("{t} s", { t }) })));
    this.more = make("button", { type: "button", class: "hs-quiet", onclick: () => this.ask({ do: "panel", panel: "Story" }) });
    return [
      step ? make("p", { class: "hs-step", text: step }) : make("p", { text: word("Nothing yet.") }),
      make("ul", {}, ...told), this.more,
    ];
  }

  /** Leaves out what weighs least of what just happened until nothing has to be scrolled. */
  fit({ told, more }) {
    const { body } = this.parts.happened;
    const items = [...body.querySelectorAll("li")];
    const leave = told.map(({ rank }, at) => [rank, items[at]]).sort(([one], [other]) => other - one).slice(0, -1);
    let left = more;
    const show = () => {
      this.more.hidden = !left;
      this.more.textContent = word("and {count} more", { count: whole(left) });
    };
    show();
    for (const [, item] of leave) {
      if (body.scrollHeight <= body.clientHeight) return;
      item.remove();
      left += 1;
      show();
    }
  }

  /** The chain of causes above each paragraph that has one. */
  why({ why, chains, verdict }, at) {
    const chained = chains.map((links, number) => (links.length ? chain(links, this.on_chain, at, number) : null));
    const all = Array.from({ length: Math.max(why.length, chained.length) }, (_, number) =>
      [chained[number], why[number] ? make("p", { text: why[number] }) : null]).flat().filter(Boolean);
    if (all.length) return all;
    return [make("p", { class: "hs-none", text: verdict.tone === "well" ? word("Nothing here needs an explanation.") : word("Step back to see how it happened.") })];
  }

  now({ kept, asks, by_itself, next }, tone) {
    const found = kept.map(({ what, where, keeps, price }, number) => make("li", {},
      make("div", {}, make("b", { text: what }), where ? make("small", { text: ` ${where}` }) : null, make("span", { text: [keeps, price].filter(Boolean).join("; ") })),
      make("button", { type: "button", text: word("try"), "aria-label": word("try {what}", { what }), onclick: () => this.ask({ do: "try", number }) })));
    const rest = next.map((one) => make("button", { type: "button", text: one.label, onclick: () => this.ask({ ...one, do: "suggested" }) }));
    return [
      found.length ? make("p", { class: "hs-lead", text: word("This would have kept the messages:") }) : null,
      found.length ? make("ol", {}, ...found) : null,
      asks && by_itself ? make("p", { class: "hs-none", text: word("Looking for a change that would have kept the messages…") }) : null,
      asks && !by_itself ? make("button", { type: "button", text: word("what would have kept the messages?"), onclick: () => this.ask({ do: "ask" }) }) : null,
      rest.length ? make("p", { class: "hs-lead", text: found.length ? word("Or go on:") : word("What would fix it:") }) : null,
      rest.length ? make("div", { class: "hs-next" }, ...rest) : null,
      !found.length && !rest.length && !asks ? make("p", { class: "hs-none", text: tone === "well" ? word("Break something: everything can be undone.") : word("Step back, or go on from here.") }) : null,
    ];
  }
}

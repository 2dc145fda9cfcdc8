// A menu at the thing that it is about. Arrow keys go through it, Escape closes it and gives the focus back.

class Menu {
  constructor(root) {
    Object.assign(this, { root, typed: "", typed_at: 0 });
    this.box = make("div", { class: "hs-menu", role: "menu", hidden: true });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.outside = (event) => {
      const path = event.composedPath(); // seen from the document, a shadow tree is one element
      if (!path.includes(this.box) && !path.includes(this.anchor)) this.close(false);
    };
    root.append(this.box);
  }

  /** Opens with `groups` of entries ({entry, label, tells}); `choose` gets an entry's name. */
  open(anchor, title, groups, choose) {
    if (this.anchor === anchor && !this.box.hidden) return this.close();
    Object.assign(this, { anchor, typed: "" });
    anchor.setAttribute("aria-expanded", "true");
    this.box.setAttribute("aria-label", title);
    this.entries = new Map();
    const parts = groups.flatMap(({ group, entries }) => [
      group ? make("div", { class: "hs-group", role: "presentation", text: group }) : null,
      ...entries.map(({ entry, label, tells }) => {
        const item = make("button", { type: "button", role: "menuitem" }, make("b", { text: label }), make("small", { text: tells }));
        item.addEventListener("click", () => {
          if (item.ariaDisabled === "true") return;
          this.close();
          choose(entry);
        });
        this.entries.set(entry, item);
        return item;
      }),
    ]);
    this.box.replaceChildren(make("div", { class: "hs-about", role: "presentation", text: title }), ...parts.filter(Boolean));
    this.box.hidden = false;
    this.stand(anchor);
    document.addEventListener("pointerdown", this.outside, true);
    this.items()[0]?.focus({ preventScroll: true });
  }

  get is_open() {
    return !this.box.hidden;
  }

  /** Says of entries what would be refused now, and takes those away from choice that cannot be done even in part. */
  refuse({ menu, name, entries }) {
    if (!this.is_open || this.anchor.dataset.place !== `${menu} ${name}`) return;
    for (const [entry, { text, can_be_chosen }] of Object.entries(entries)) {
      const item = this.entries.get(entry);
      item.classList.add("hs-refused");
      item.lastChild.textContent = text;
      if (!can_be_chosen) item.ariaDisabled = "true";
    }
    this.stand(this.anchor);
  }

  /** Beside the thing where there is room, and within the page. */
  stand(anchor) {
    const root = this.root.getBoundingClientRect();
    const at = anchor.getBoundingClientRect();
    const own = this.box.getBoundingClientRect();
    const left = at.left - root.left + Math.min(at.width * 0.6, 120);
    const top = at.bottom - root.top + 4;
    this.box.style.left = `${Math.max(4, Math.min(left, root.width - own.width - 6))}px`;
    this.box.style.top = `${Math.max(4, Math.min(top, root.height - own.height - 6))}px`;
  }

  close(back = true) {
    if (this.box.hidden) return;
    this.box.hidden = true;
    document.removeEventListener("pointerdown", this.outside, true);
    this.anchor.removeAttribute("aria-expanded");
    if (back) still(this.anchor, this.root).focus({ preventScroll: true });
  }

  items() {
    return [...this.box.querySelectorAll("[role=menuitem]")];
  }

  key(event) {
    const items = this.items();
    const at = items.indexOf(focused(this.box));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") {
      this.close();
    } else if (next !== undefined) {
      items.at(next % items.length).focus();
    } else if (event.key.length === 1 && event.key !== " ") {
      this.typed = (event.timeStamp - this.typed_at < 900 ? this.typed : "") + event.key.toLowerCase();
      this.typed_at = event.timeStamp;
      items.find((item) => item.textContent.startsWith(this.typed))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

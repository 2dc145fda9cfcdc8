// The picker: a field that shows which cluster is open, and in which a person searches for another one. Words of a title
// or of its group are found in any order, with and without accents; arrow keys go through what is found.

const folded = (text) => text.normalize("NFD").replace(/\p{Mn}/gu, "").toLocaleLowerCase(language);

class Picker {
  /** `choices` are {label, heading}, a heading before those of its group; `choose` gets the place of a choice. */
  constructor(choices, choose) {
    Object.assign(this, { choose, title: "", at: -1 });
    const id = `hs-choices-${Math.random().toString(36).slice(2)}`;
    this.list = make("div", { class: "hs-choices", role: "listbox", id, "aria-label": word("scenarios") });
    this.count = make("p", { class: "hs-found", role: "status" });
    this.popup = make("div", { class: "hs-found-list", hidden: true }, this.count, this.list);
    this.field = make("input", {
      type: "text", role: "combobox", "aria-label": word("scenario"), title: word("the cluster and its story"), "aria-expanded": "false",
      "aria-controls": id, "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", placeholder: word("search by words"),
    });
    this.fill(choices, id);
    this.field.addEventListener("click", () => this.open());
    this.field.addEventListener("input", () => this.open(this.field.value));
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("blur", () => this.close());
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    this.list.addEventListener("click", (event) => this.take(event.target.closest("[role=option]")));
    this.box = make("div", { class: "hs-picker" }, this.field, this.popup);
  }

  fill(choices, id) {
    this.options = [];
    let group = this.list;
    choices.forEach(({ label, heading }, place) => {
      if (heading) {
        const name = make("div", { class: "hs-group", role: "presentation", text: label });
        group = make("div", { role: "group", "aria-label": label }, name);
        this.list.append(group);
        return;
      }
      const option = make("div", { role: "option", id: `${id}-${place}`, "aria-selected": "false", text: label });
      const words = folded(`${label} ${group.getAttribute("aria-label") ?? ""}`);
      this.options.push({ option, group, place, words });
      group.append(option);
    });
  }

  show(title) {
    this.title = title;
    if (this.popup.hidden) this.field.value = title;
  }

  /** Opens the list with what fits the words that were typed, all of it without any. */
  open(typed = "") {
    const wanted = folded(typed).split(/\s+/).filter(Boolean);
    if (this.popup.hidden) {
      this.popup.hidden = false;
      this.field.setAttribute("aria-expanded", "true");
      if (!typed) this.field.select();
    }
    this.found = this.options.filter(({ words }) => wanted.every((one) => words.includes(one)));
    const fits = new Set(this.found);
    for (const one of this.options) one.option.hidden = !fits.has(one);
    const groups = new Set(this.found.map(({ group }) => group));
    for (const { group } of this.options) if (group !== this.list) group.hidden = !groups.has(group);
    this.count.textContent = this.found.length ? word("{count} of {total} scenarios", { count: whole(this.found.length), total: whole(this.options.length) })
      : word("No scenario has all of these words.");
    this.mark(wanted.length ? 0 : -1);
    this.list.scrollTop = 0;
  }

  close() {
    this.popup.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.value = this.title;
    this.mark(-1);
  }

  /** Marks what Enter opens. */
  mark(at) {
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    const marked = this.found?.[at]?.option;
    this.at = marked ? at : -1;
    if (!marked) return this.field.removeAttribute("aria-activedescendant");
    marked.setAttribute("aria-selected", "true");
    marked.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", marked.id);
  }

  take(option) {
    const chosen = this.options.find((one) => one.option === option);
    if (!chosen) return;
    this.close();
    this.choose(chosen.place);
  }

  key(event) {
    const is_open = !this.popup.hidden;
    const last = (this.found?.length ?? 0) - 1;
    if (event.key === "Escape" && is_open) this.close();
    else if (event.key === "Enter" && is_open) this.take(this.found[this.at]?.option);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!is_open) this.open();
      else this.mark(event.key === "ArrowDown" ? Math.min(this.at + 1, last) : Math.max(this.at - 1, 0));
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      if (is_open) this.mark(Math.max(0, Math.min(this.at + (event.key === "PageDown" ? 10 : -10), last)));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

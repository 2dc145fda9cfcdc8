// A prediction: the question, the cluster, and what can be guessed. Once a guess is made the story plays in the picture.

const NOTHING = { forecasts: {}, queue: "" };

function render({ model, el }) {
  dictionary = model.get("words");
  el.lang = language = model.get("tag");
  el.classList.add("hawb-lesson", "hs-stage", "hq");
  const choices = model.get("choices");
  const guess = (value) => {
    if (model.get("over")) return;
    model.set("guess", value);
    mark(); // at once: Python's reply takes longer
    model.save_changes();
  };
  const give_up = () => {
    model.set("over", true);
    mark();
    model.save_changes();
  };
  const on_node = ({ name }) => choices.includes(name) && guess(name);
  const picture = new Picture({ menus: false, node: on_node, queue: () => {}, choose: () => {}, client: () => {} });
  const caption = make("p", { class: "hs-caption", role: "status" });
  const player = new Player(picture, (text) => { caption.textContent = text; }, () => {});
  const again = make("button", { type: "button", class: "hs-quiet", text: word("play it again"), onclick: () => player.play() });
  const screen = make("div", { class: "hs-screen" }, picture.box, caption);
  const causes = make("div", {});
  const other = new Other();
  const title = make("h2", { text: word("the story"), hidden: true });
  const ends = make("div", { class: "hw-stories" }, make("section", { class: "hw-story" }, title, screen), other.box);
  const tries = make("div", { class: "hq-tries" });
  const asked = make("p", { class: "hq-question" }, make("b", { text: word("Predict:") }), ` ${model.get("question")}`);
  const told = make("p", { class: "hq-told", role: "status" });
  const given = choices.length ? choice_of(choices, guess) : number(guess, model.get("question"));
  const skip = make("button", { type: "button", class: "hs-quiet", "data-skip": true, "aria-pressed": "false", text: word("I do not know: show it"), onclick: give_up });
  const answers = make("div", { class: "hq-answers", role: "group", "aria-label": model.get("question") }, ...given, skip);
  el.replaceChildren(asked, ends, answers, told, causes, again, tries);
  keep_keys(el);
  picture.box.addEventListener("click", ({ target }) => {
    const place = target.closest(".hs-cell")?.dataset.place ?? "";
    const node = choices.find((name) => place.endsWith(` ${name}`));
    if (node) guess(node);
  });

  /** Marks the button that was pressed: a choice, the one beside a number, or the one that gives up. */
  function mark() {
    const made = model.get("guess");
    for (const button of answers.querySelectorAll("button")) {
      const { choice, skip: skips } = button.dataset;
      const is_pressed = skips !== undefined ? made === null && model.get("over") : choice !== undefined ? choice === made : made !== null && !model.get("over");
      button.setAttribute("aria-pressed", String(is_pressed));
    }
  }

  let over = null;
  function changed() {
    const { before, after, movements } = model.get("picture");
    const now = model.get("over") && after !== undefined; // until Python has sent how it ended, the question is open
    const [from, to] = [before ?? null, (now && after) || before];
    told.textContent = model.get("reply");
    for (const button of answers.querySelectorAll("button, input")) button.disabled = now;
    mark();
    skip.hidden = now || model.get("later");
    screen.hidden = !to;
    again.hidden = !now || !movements?.length;
    if (over === now) return;
    if (to) {
      screen.style.setProperty("--rows", to.rows.length);
      player.take({ before: from, after: to, movements: now ? movements : [], bar: NOTHING });
      if (over === false && now && movements.length) player.play();
      else player.show();
      for (const button of picture.grid.querySelectorAll(".hs-node")) {
        button.classList.toggle("hs-invited", !now && choices.includes(button.title));
      }
    }
    causes.replaceChildren(...[(now && played_chain(player, movements, model.get("picture").chain, caption)) || ""]);
    if (over === false && now) open_explanation(el);
    over = now;
  }

  const ask = ({ currentTarget }) => {
    currentTarget.disabled = true;
    model.set("asks", true);
    model.save_changes();
  };

  /** Shows the end of the story with a change beside its own end. */
  function tried(one, button) {
    for (const each of tries.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === button));
    title.hidden = false;
    player.stop();
    player.position = player.phases.length;
    player.show();
    other.draw(one);
  }

  function offered() {
    const found = model.get("tries");
    const { lost } = model.get("picture");
    if (!lost) return tries.replaceChildren();
    if (!found) {
      return tries.replaceChildren(make("button", { type: "button", text: word("what would have kept the messages?"), onclick: ask }));
    }
    const buttons = found.map((one) => make("button", { type: "button", "aria-pressed": "false", text: word("try {what}", { what: one.what }),
      onclick: ({ currentTarget }) => tried(one, currentTarget) }));
    const lead = found.length ? word("This would have kept the messages:") : word("No single change would have kept them.");
    refill(tries, make("p", { text: lead, role: "status" }), make("div", { class: "hq-answers" }, ...buttons));
  }

  const resized = new ResizeObserver(() => [picture, other.picture].forEach((one) => one.scene && one.measure()));
  resized.observe(picture.box);
  model.on("change:guess change:over change:reply change:picture", changed);
  model.on("change:over change:picture change:tries", offered);
  changed();
  offered();
  return () => {
    player.stop();
    resized.disconnect();
    model.off("change:guess change:over change:reply change:picture", changed);
    model.off("change:over change:picture change:tries", offered);
  };
}

/** The end of the story with a change. Marked is what differs from the story's own end. */
class Other {
  constructor() {
    this.picture = new Picture({ menus: false, node: () => {}, queue: () => {}, choose: () => {}, client: () => {} });
    this.title = make("h2", {});
    this.told = make("p", { role: "status" });
    this.screen = make("div", { class: "hs-screen" }, this.picture.box);
    this.box = make("section", { class: "hw-story", hidden: true }, this.title, this.screen, this.told);
  }

  draw({ what, where, keeps, price, scene }) {
    this.title.textContent = [what, where].filter(Boolean).join(" ");
    this.told.textContent = [keeps, price].filter(Boolean).join("; ");
    this.box.hidden = false;
    this.screen.style.setProperty("--rows", scene.rows.length);
    this.picture.draw(scene, NOTHING);
  }
}

const choice_of = (choices, guess) => choices.map((text) =>
  make("button", { type: "button", "data-choice": text, "aria-pressed": "false", text, onclick: () => guess(text) }));

function number(guess, question) {
  const field = make("input", { type: "text", inputmode: "numeric", size: 12, "aria-label": question, placeholder: word("a number") });
  const done = () => field.value.trim() && guess(field.value);
  field.addEventListener("keydown", (event) => event.key === "Enter" && done());
  return [field, make("button", { type: "button", "aria-pressed": "false", text: word("predict"), onclick: done })];
}

/** Opens the explanation that the page has below: it is folded so that nobody reads it before the guess. */
function open_explanation(el) {
  const below = [...document.querySelectorAll("details")].find((one) =>
    el.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING && one.querySelector("summary")?.textContent.trim() === word("Why?"));
  const next = [...document.querySelectorAll(".hq")].find((one) => el.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  const nearer = below && !(next && next.compareDocumentPosition(below) & Node.DOCUMENT_POSITION_FOLLOWING);
  if (nearer) below.open = true;
}

export default { render };

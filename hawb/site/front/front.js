// The first page: the stage, answered by moves that were played in advance until the engine runs in a worker. The engine
// then plays the same moves, and goes on from where they led. The address of the page is that of the state.

/** What the stage has as its model: values, those who listen to them, and whoever answers a message. */
class Model {
  constructor(first, notices) {
    Object.assign(this, { first, notices, told: { ...first.given }, listeners: {}, path: [], state: 0, shown: 0, engine: null, waits: false });
  }

  get(name) {
    return this.told[name];
  }

  on(name, listener) {
    (this.listeners[name] ??= []).push(listener);
  }

  off(name, listener) {
    this.listeners[name] = this.listeners[name].filter((one) => one !== listener);
  }

  /** Takes what is new, and tells those who listen. */
  take(news) {
    const changed = Object.keys(news).filter((name) => JSON.stringify(news[name]) !== JSON.stringify(this.told[name]));
    Object.assign(this.told, news);
    changed.flatMap((name) => this.listeners[`change:${name}`] ?? []).forEach((listener) => listener());
    this.notices.took(this.told);
  }

  send(message) {
    if (this.engine) {
      this.engine.postMessage(message);
      return;
    }
    this.path.push(message);
    if (this.waits) return;
    const view = this.answer(message);
    if (view) this.take({ view: { ...view, answered: message.asked ?? this.told.view.answered } });
    else this.waits = this.notices.lacks(message, this);
  }

  /** The view that answers a message, if it was played in advance. */
  answer({ asked, ...message }) {
    if (message.do === "menu") return { ...this.told.view, play: null };
    const known = message.do === "address" ? this.first.addresses[message.address] : this.first.states[this.state][key(message)];
    if (!known) return null;
    [this.shown, this.state] = known;
    return this.first.views[this.shown];
  }

  /** Says that a message is not answered, as there is no engine: all stays as it is. */
  refuse(message, text) {
    this.path.pop();
    const { view } = this.told;
    this.take({ view: { ...view, play: null, answered: message.asked ?? view.answered, leads: { ...view.leads, answers: [text] } } });
  }

  /** Goes on in another language, where the same moves were played. */
  speak(first, message) {
    this.first = first;
    const answered = Math.max(this.told.view.answered, message.asked);
    this.take({ ...first.given, view: { ...first.views[this.shown], play: null, answered } });
  }

  /** Has a worker go on from where its moves lead. */
  follow(worker, address, language) {
    this.engine = worker;
    worker.postMessage({ address, language, messages: this.path });
  }
}

/** A message as a state knows it: `key` of hawb.site.first. */
const key = (message) => JSON.stringify(Object.entries(message).sort());

const place = document.getElementById("stage");
const waiting = document.getElementById("waiting");
let has_engine = place.parentElement.hasAttribute("data-engine") && location.protocol !== "file:";
const wanted = () => location.hash.slice(1);

/** What is told once and the first moves, in a language. */
function first_in(spoken) {
  return new Promise((done, failed) => {
    const script = make("script", { src: `first-${spoken}.js`, onload: () => done(unpacked(window.hawb_first)), onerror: failed });
    document.head.append(script);
  });
}

function say(text) {
  waiting.textContent = text;
  waiting.hidden = !text;
}

/** Has the page around the stage say what it says in the language of the stage. */
function speak_page(model) {
  const words = model.get("words");
  document.documentElement.lang = model.get("tag");
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = words[element.dataset.word];
  for (const list of document.querySelectorAll(".ws-lessons")) list.hidden = list.lang !== document.documentElement.lang;
}

const LANGUAGES = ["en", "zh", "pt"];

async function begin() {
  const spoken = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => LANGUAGES.includes(tag)) ?? "en";
  const address = wanted();
  let is_drawn = false;
  const model = new Model(await first_in(spoken), {
    took: (told) => {
      if (!told.view) return;
      drawer.draw(told.drawer);
      history.replaceState(null, "", location.pathname + location.search + (told.view.address ? `#${told.view.address}` : ""));
      if (!is_drawn) show();
    },
    /** What to do about a message that was not played in advance; whether the engine will answer it. */
    lacks: (message) => {
      if (message.do === "language") first_in(message.language).then((first) => model.speak(first, message));
      else if (has_engine) say(word("Python is still loading. Your action is carried out as soon as it has loaded."));
      else model.refuse(message, word("This needs the engine, which runs only if a server delivers this page. See below."));
      return has_engine && message.do !== "language";
    },
  });
  const drawer = new TextDrawer((message) => model.send(message));
  function show() {
    is_drawn = true;
    render({ model, el: place });
    place.after(drawer.box);
    model.on("change:words", () => speak_page(model));
    speak_page(model);
  }
  dictionary = model.get("words");
  const known = model.first.addresses[address];
  if (known || !has_engine) {
    [model.shown, model.state] = known ?? [0, 0];
    model.take({ view: { ...model.first.views[model.shown], play: null } });
    if (!known) model.send({ do: "address", address });
  } else {
    model.waits = true;
    place.hidden = true;
    say(word("Python is still loading. Your action is carried out as soon as it has loaded."));
  }
  window.addEventListener("hashchange", () => model.send({ do: "address", address: wanted() }));
  if (has_engine) (window.requestIdleCallback ?? setTimeout)(() => start(model, address, spoken)); // once the page is drawn
  else document.getElementById("unserved").hidden = false;
}

/** Starts the engine. */
function start(model, address, spoken) {
  const worker = new Worker("worker.js", { type: "module" });
  const fail = (error) => {
    const text = word("The engine did not answer: {error}", { error });
    const unanswered = model.waits ? model.path.at(-1) : null;
    has_engine = model.waits = place.hidden = false;
    say(text);
    if (!model.told.view) model.take({ view: model.first.views[0] });
    if (unanswered) model.refuse(unanswered, text);
  };
  worker.onerror = (error) => fail(error.message);
  worker.onmessage = ({ data: { ready, failed, state } }) => {
    if (failed) fail(failed);
    if (ready) model.follow(worker, address, spoken);
    if (!state) return;
    place.hidden = false;
    say("");
    model.take(JSON.parse(state));
  };
}

begin().catch((error) => say(String(error)));

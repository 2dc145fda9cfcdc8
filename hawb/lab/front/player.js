// The player: a step as phases between two scenes, played forwards and backwards, stopped, and gone through one by one.

const paces_of = () => [["slow", word("slow animation"), 0.5], ["normal", word("normal animation"), 1], ["fast", word("fast animation"), 3]];
const LONGEST_MS = 900;
const SHORTEST_MS = 420;

class Player {
  /** `moved` is called whenever it stands elsewhere, `ended` when it has come to an end by playing. */
  constructor(picture, moved, ended) {
    Object.assign(this, { picture, moved, ended });
    picture.measured = () => this.draw_again();
    this.pace = 1;
    this.phases = [];
    this.position = 0;
    this.direction = 0;
    this.still = this.moments = [];
    this.drawn = null; // how far the phase has come in which it stands
  }

  /** The moment of the movement that it stands in the middle of; null where it moves, or stands at an end. */
  get moment() {
    return this.is_moving || this.is_over || !this.before ? null : this.moments[Math.floor(this.position)] ?? null;
  }

  get is_moving() {
    return this.direction !== 0;
  }

  get is_over() {
    return this.position >= this.phases.length;
  }

  /** Takes a step up: the scenes before and after, what moves between them, at which moments, and what is under way after it. */
  take({ before, after, movements, bar, moments = [], still = [] }) {
    this.stop();
    Object.assign(this, { before: before && unmarked(before), after, bar, moments, still });
    this.phases = [];
    for (const one of movements) (this.phases[one.phase - movements[0].phase] ??= []).push(one);
    this.position = this.phases.length;
  }

  /** Plays on from where it stands, or from the beginning. */
  play(direction = 1) {
    if (!this.phases.length || !this.before) return this.finish(direction);
    if (direction > 0 && this.is_over) this.position = 0;
    if (calm()) {
      this.position = direction > 0 ? this.phases.length : 0;
      this.show();
      return this.finish(direction);
    }
    this.direction = direction;
    this.last = null;
    this.show();
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  /** Stands still where it is, with what is under way in the air. */
  pause() {
    cancelAnimationFrame(this.frame);
    this.direction = 0;
  }

  stop() {
    this.pause();
    this.clear();
  }

  /** One phase further or back; whether there was one. */
  nudge(direction) {
    const next = Math.max(0, Math.min(this.phases.length, Math.floor(this.position) + direction));
    if (!this.phases.length || !this.before || next === this.position) return false;
    this.look_at(next);
    return true;
  }

  /** Stands still in the middle of a phase. */
  look_at(phase) {
    this.stop();
    this.position = phase;
    this.show();
    this.draw(0.5);
  }

  tick(now) {
    if (!this.direction) return;
    const phase = this.phases[Math.min(Math.floor(this.position), this.phases.length - 1)];
    const passed = this.last === null ? 0 : now - this.last;
    this.last = now;
    const before = Math.floor(this.position);
    this.position += (this.direction * passed * this.pace) / duration(phase);
    this.position = Math.max(0, Math.min(this.phases.length, this.position));
    if (Math.floor(this.position) !== before) this.show();
    if (this.position >= this.phases.length || (this.position <= 0 && this.direction < 0)) {
      const direction = this.direction;
      this.stop();
      this.show();
      this.finish(direction);
      return;
    }
    this.draw(this.position - Math.floor(this.position));
    this.frame = requestAnimationFrame((then) => this.tick(then));
  }

  finish(direction) {
    this.direction = 0;
    this.ended(direction);
    return false;
  }

  /** Draws the scene as it is after the phases that are over. */
  show() {
    const over = Math.floor(this.position);
    const done = over >= this.phases.length;
    this.picture.draw(done ? this.after : mixed(this.before, this.after, this.phases.slice(0, over), this.phases.slice(over)), this.bar);
    this.flying = null;
    this.moved(this.caption());
    if (done && this.still.length) this.draw_still();
  }

  /** Draws what is under way after the step, half way. */
  draw_still() {
    this.picture.look();
    this.colours ??= this.palette();
    const { canvas } = this.picture;
    draw_flights(canvas.getContext("2d"), canvas, flights(this.still, this.picture), 0.5, this.colours);
  }

  caption() {
    const phase = this.phases[Math.min(Math.floor(this.position), this.phases.length - 1)];
    if (!phase || this.is_over) return this.still.map((one) => one.text).join(" ");
    return phase.length > 1 ? word("{text} {count} more such events follow.", { text: phase[0].text, count: phase.length - 1 }) : phase[0].text;
  }

  /** Draws what stands still again, once the picture has another size. */
  draw_again() {
    if (this.is_moving) return;
    this.flying = null;
    if (this.drawn !== null) this.draw(this.drawn);
    else if (this.is_over && this.still.length) this.draw_still();
  }

  draw(t) {
    const phase = this.phases[Math.floor(this.position)];
    if (!phase) return this.clear();
    this.drawn = t;
    this.picture.look();
    this.colours ??= this.palette();
    this.flying ??= flights(phase, this.picture);
    const { canvas } = this.picture;
    draw_flights(canvas.getContext("2d"), canvas, this.flying, t, this.colours);
  }

  palette() {
    const style = getComputedStyle(this.picture.box);
    const names = new Set([...Object.values(LOOK).map(([tint]) => tint), "faint", "ground"]);
    return Object.fromEntries([...names].map((name) => [name, style.getPropertyValue(`--hawb-${name}`).trim()]));
  }

  clear() {
    this.colours = this.drawn = null;
    const { canvas } = this.picture;
    canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
  }
}

function duration(phase) {
  return phase.some((one) => one.routes.length) ? LONGEST_MS : SHORTEST_MS;
}

/** A scene without marks of what had changed when it was new. */
function unmarked(scene) {
  const clean = (thing) => (thing.was ? { ...thing, was: null } : thing);
  const rows = scene.rows.map((row) => ({
    ...clean(row), cells: Object.fromEntries(Object.entries(row.cells).map(([name, cell]) => [name, clean(cell)])),
  }));
  return { ...scene, nodes: scene.nodes.map(clean), rows };
}

/**
 * A scene between two: what the phases that are over have touched is as after, all else as before. Until the election
 * of a queue's leader that is still to come its copies stay as before.
 */
function mixed(before, after, phases, to_come) {
  const seen = new Set();
  const queues = new Set();
  const unled = new Set(to_come.flat().filter((one) => one.kind === "elect").map((one) => one.queue));
  for (const one of phases.flat()) {
    if (one.term !== undefined) continue; // votes change nothing that the picture shows
    if (one.queue) queues.add(one.queue);
    for (const place of unled.has(one.queue) && one.kind === "down" ? [] : one.places) {
      seen.add(one.queue ? `${one.queue} ${place}` : place);
      if (one.kind === "end") seen.add(`* ${place}`);
    }
  }
  const nodes = new Map(before.nodes.map((node) => [node.name, node]));
  const rows = new Map(before.rows.map((row) => [row.queue, row]));
  const sides = phases.some((phase) => phase[0].kind === "part" || phase[0].kind === "heal") ? after : before;
  const shown = {
    ...after, sides: sides.sides, cut: sides.cut, noticed: sides.noticed,
    nodes: sides.nodes.map((node) => {
      const known = (seen.has(node.name) ? after.nodes.find((one) => one.name === node.name) : nodes.get(node.name)) ?? node;
      return { ...known, side: node.side };
    }),
  };
  shown.rows = after.rows.map((row) => {
    const was = rows.get(row.queue);
    if (!was) return queues.has(row.queue) ? row : { ...row, cells: {} };
    const cells = {};
    for (const name of Object.keys({ ...was.cells, ...row.cells })) {
      const cell = seen.has(`${row.queue} ${name}`) || seen.has(`* ${name}`) ? row.cells[name] : was.cells[name];
      if (cell) cells[name] = cell;
    }
    return { ...(queues.has(row.queue) ? row : was), cells };
  });
  return shown;
}

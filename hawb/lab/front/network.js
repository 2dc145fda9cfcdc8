// The network: an arc for each link, above the places that it connects, and the line that a person draws through it.

const STRAIGHT = 0.6; // how far a line may lean and still part left from right
const LONG = 40; // pixels that a line has to have

const joined = (first, second) => [first, second].sort().join("\u0000");

/** Draws the links of a picture. */
function connect(picture) {
  const { scene, links } = picture;
  const down = new Set(scene.cut.map(([first, second]) => joined(first, second)));
  const heads = scene.nodes.map((node) => [node, picture.place(node.name)]).filter(([, at]) => at);
  const widest = heads.length > 1 ? heads.at(-1)[1].x - heads[0][1].x : 1;
  const em = parseFloat(getComputedStyle(picture.box).fontSize);
  picture.arcs = [];
  const drawn = [];
  heads.forEach(([first, from], at) => {
    for (const [second, to] of heads.slice(at + 1)) {
      const broken = down.has(joined(first.name, second.name));
      const alive = first.state === "running" && second.state === "running";
      const rise = em * (0.8 + 1.9 * ((to.x - from.x) / widest));
      const peak = { x: (from.x + to.x) / 2, y: from.top - rise };
      const curve = `M${from.x} ${from.top}Q${peak.x} ${from.top - 2 * rise} ${to.x} ${to.top}`;
      picture.arcs.push({ nodes: [first.name, second.name], from, to, rise });
      drawn.push(draw("path", { d: curve, class: broken ? "hs-cut" : alive ? "hs-link" : "hs-idle" }));
      if (broken) drawn.push(draw("path", { d: `M${peak.x - 5} ${peak.y - 5}l10 10m0-10l-10 10`, class: "hs-cross" }));
    }
  });
  picture.links.replaceChildren(...drawn);
}

/** What a line from one point to another parts: the nodes left of it from those right of it, or the links it crosses. */
function parted(picture, from, to) {
  const across = Math.abs(to.x - from.x);
  const along = Math.abs(to.y - from.y);
  if (Math.hypot(across, along) < LONG) return null;
  const { scene } = picture;
  if (across < along * STRAIGHT) {
    const x = (from.x + to.x) / 2;
    const left = scene.nodes.filter((node) => picture.place(node.name).x < x).map((node) => node.name);
    const right = scene.nodes.map((node) => node.name).filter((name) => !left.includes(name));
    return left.length && right.length ? { groups: [left, right] } : null;
  }
  const links = picture.arcs.filter((arc) => crosses(arc, from, to)).map((arc) => arc.nodes);
  return links.length ? { links } : null;
}

function crosses(arc, from, to) {
  let before = null;
  for (let step = 0; step <= 16; step += 1) {
    const t = step / 16;
    const here = { x: arc.from.x + (arc.to.x - arc.from.x) * t, y: arc.from.top - 4 * arc.rise * t * (1 - t) };
    if (before && meet(before, here, from, to)) return true;
    before = here;
  }
  return false;
}

function meet(a, b, c, d) {
  const turn = (p, q, r) => Math.sign((q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x));
  return turn(a, b, c) !== turn(a, b, d) && turn(c, d, a) !== turn(c, d, b);
}

/** Lets a person draw a line through the network; `done` gets what it parts. */
function drawable(picture, done) {
  let from = null;
  let line = null;
  const at = (event) => {
    const around = picture.grid.getBoundingClientRect();
    return { x: event.clientX - around.left, y: event.clientY - around.top };
  };
  picture.box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button")) return;
    picture.look();
    from = at(event);
    line = draw("path", { class: "hs-drawn" });
    picture.links.append(line);
    picture.box.setPointerCapture(event.pointerId);
  });
  picture.box.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = at(event);
    line.setAttribute("d", `M${from.x} ${from.y}L${to.x} ${to.y}`);
    line.classList.toggle("hs-parts", parted(picture, from, to) !== null);
  });
  const end = (event) => {
    if (!from) return;
    const found = event.type === "pointerup" ? parted(picture, from, at(event)) : null;
    line.remove();
    from = null;
    if (found) done(found);
  };
  picture.box.addEventListener("pointerup", end);
  picture.box.addEventListener("pointercancel", end);
}

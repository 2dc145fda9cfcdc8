// What is under way in one phase, drawn as a function of how far the phase has come: so it can stop and go backwards.

const MOST = 1000; // messages in flight at once
const LOOK = {
  publish: ["master", "square"], confirm: ["held", "tick"], acknowledge: ["held", "tick"], deliver: ["redelivered", "square"],
  requeue: ["redelivered", "square"], synchronise: ["lacking", "square"], synchronised: ["held", "ring"], join: ["held", "ring"],
  declare: ["master", "ring"], elect: ["master", "vote"], ask: ["faint", "ring"],
  would_vote: ["held", "tick"], stand: ["lacking", "vote"], vote: ["held", "tick"], refuse_vote: ["lost", "cross"], vote_lost: ["lost", "lost"],
  no_majority: ["lost", "ring"], take_over: ["master", "square"], refuse: ["lost", "cross"],
  lose: ["lost", "fall"], end: ["lost", "cross"], down: ["down", "ring"], up: ["held", "ring"], leave: ["down", "ring"],
  gone: ["down", "ring"], part: ["lost", "cross"], heal: ["held", "ring"], cut_log: ["lost", "cross"], dead_letter: ["lost", "square"],
};
const ease = (t) => t * t * (3 - 2 * t);

/** The flights and pulses of a phase's movements, by where things stand now. */
function flights(movements, picture) {
  const found = [];
  const each = Math.max(1, Math.floor(MOST / Math.max(1, movements.reduce((sum, one) => sum + one.routes.length, 0))));
  for (const one of movements) {
    const [tint, shape] = LOOK[one.kind] ?? ["faint", "ring"];
    one.routes.forEach(([from, to], place) => {
      const start = picture.place(from, one.queue);
      const end = picture.place(to, one.queue);
      if (start && end) {
        const late = one.kind === "publish" && place > 0 ? 0.35 : 0;
        found.push({ shape, tint, start, end, late, term: one.term, count: Math.min(Math.max(one.count, 1), each, shape === "vote" ? 1 : 400) });
      }
    });
    if (!one.routes.length || one.kind === "take_over" || one.kind === "elect") {
      const places = one.at ?? (one.node ? [one.node] : one.places);
      for (const name of places) {
        const at = picture.place(name, one.queue);
        if (at) found.push({ shape: shape === "cross" ? "strike" : "pulse", tint, start: at, end: at, late: 0, count: 1 });
      }
    }
  }
  return found;
}

/** Draws flights at `t` of the phase, from 0 to 1. */
function draw_flights(context, size, found, t, colours) {
  context.clearRect(0, 0, size.width, size.height);
  context.font = "600 12px system-ui, sans-serif";
  for (const one of found) {
    context.fillStyle = context.strokeStyle = colours[one.tint];
    const own = Math.max(0, Math.min(1, (t - one.late) / (1 - one.late)));
    if (t < one.late) continue;
    if (one.shape === "pulse" || one.shape === "strike") pulse(context, one, own);
    else swarm(context, one, own, colours);
  }
  context.globalAlpha = 1;
}

/** A frame around a place that fades, and for an end a cross through it. */
function pulse(context, { start, shape }, t) {
  context.globalAlpha = 1 - t * 0.85;
  context.lineWidth = 3;
  const grow = 3 + 8 * t;
  const left = Math.max(2, start.left - grow);
  const right = Math.min(context.canvas.clientWidth - 2, start.left + start.width + grow);
  context.strokeRect(left, start.top - grow, right - left, start.height + 2 * grow);
  if (shape === "strike") {
    const reach = Math.min(start.width, start.height) * 0.4 * ease(Math.min(1, 2 * t));
    context.lineWidth = 5;
    context.beginPath();
    context.moveTo(start.x - reach, start.y - reach);
    context.lineTo(start.x + reach, start.y + reach);
    context.moveTo(start.x + reach, start.y - reach);
    context.lineTo(start.x - reach, start.y + reach);
    context.stroke();
  }
}

/** Messages on their way, one behind the other, in a bow; what is lost falls. */
function swarm(context, one, t, colours) {
  const { start, end, count, shape } = one;
  const spread = count > 1 ? 0.45 : 0;
  const falls = shape === "fall";
  const above = one.term === undefined || end.x > start.x ? 1 : -1; // two candidates ask each other, each on a way of its own
  const bow = falls ? 0 : above * Math.min(60, 14 + Math.abs(end.x - start.x) * 0.12);
  const size = falls ? 8 : count > 60 ? 4 : count > 12 ? 5 : 7;
  context.globalAlpha = falls ? 1 - t * 0.7 : 1;
  context.lineWidth = 2;
  context.beginPath();
  for (let number = 0; number < count; number += 1) {
    const turn = falls ? (number * 37) % count : number; // what falls, falls here and there
    const late = count > 1 ? (spread * turn) / (count - 1) : 0;
    const own = (t - late) / (1 - spread);
    if (own < 0 || own > 1) continue;
    const along = shape === "lost" ? ease(own) / 2 : ease(own); // what is lost stays half way
    const wobble = ((number * 7) % 11) - 5;
    let x = start.x + (end.x - start.x) * along + (count > 12 ? wobble * 0.6 : 0);
    let y = start.y + (end.y - start.y) * along - 4 * bow * along * (1 - along) + (count > 1 ? wobble : 0);
    if (falls) {
      x = start.left + ((number + 0.5) / count) * start.width;
      y = start.y + own * own * 140 - 10 * Math.sin(own * 3);
    }
    sign(context, shape === "lost" ? "cross" : shape, x, y, size);
    if (one.term !== undefined) label(context, `t${one.term}`, x + 10, y - 6, colours);
  }
  if (shape === "square" || falls) context.fill();
  else context.stroke();
}

/** The term, beside what flies in it. */
function label(context, text, x, y, colours) {
  const { strokeStyle, lineWidth } = context;
  Object.assign(context, { strokeStyle: colours.ground, lineWidth: 4 });
  context.strokeText(text, x, y);
  Object.assign(context, { strokeStyle, lineWidth });
  context.fillText(text, x, y);
}

function sign(context, shape, x, y, size) {
  const half = size / 2;
  if (shape === "square") context.rect(x - half, y - half, size, size);
  else if (shape === "tick") {
    context.moveTo(x - half, y);
    context.lineTo(x - half / 3, y + half);
    context.lineTo(x + half, y - half);
  } else if (shape === "fall") {
    context.moveTo(x - half, y - half);
    context.lineTo(x + half, y - half);
    context.lineTo(x, y + half);
    context.closePath();
  } else if (shape === "cross") {
    context.moveTo(x - half, y - half);
    context.lineTo(x + half, y + half);
    context.moveTo(x + half, y - half);
    context.lineTo(x - half, y + half);
  } else {
    const round = shape === "vote" ? 6 : half;
    context.moveTo(x + round, y);
    context.arc(x, y, round, 0, 2 * Math.PI);
  }
}

// A chain of causes as chips. Point at one, and what it is about lights up in the picture and on the slider of moments.

/** The chips of a chain. `on.point` gets the link that is pointed at, or null; `on.go` goes to the moment of a link. `at`
 * is the position that the page shows, `key` tells this chain from others of the page. */
function chain(links, on, at, key = "0") {
  const told = make("p", { class: "hs-chip-told", "aria-hidden": "true" }); // on a phone the picture may be out of sight
  const point = (link) => {
    told.textContent = link?.told ?? "";
    on.point(link);
  };
  const chips = links.map((link, number) => make("li", {}, make("button", {
    type: "button", class: `hs-chip hs-${link.tone}`, title: link.told, "data-chip": `${key} ${number}`,
    "aria-current": link.position !== null && link.position === at ? "step" : false,
    onmouseenter: () => point(link), onmouseleave: () => point(null), onfocus: () => point(link), onblur: () => point(null),
    onclick: () => on.go(link),
  }, link.glyph ? make("i", { "aria-hidden": "true", text: link.glyph }) : null, make("span", { text: link.text }))));
  return make("div", { class: "hs-causes" }, make("ol", { class: "hs-chain", "aria-label": word("the chain of causes") }, ...chips), told);
}

/** Draws something that contains chips; the chip that has the focus keeps it. */
function keep_chip(root, draw_it) {
  const had = root.contains(focused(root)) ? focused(root).dataset.chip : undefined;
  draw_it();
  if (had) root.querySelector(`[data-chip="${CSS.escape(had)}"]`)?.focus({ preventScroll: true });
}

/** Whether a place of the picture is one that a link is about: replicas of its queue on its nodes, or its nodes. */
function is_about({ queue, nodes }, place, places) {
  if (!queue) return nodes.some((node) => place === `node ${node}`);
  if (!nodes.length) return place === `queue ${queue}` || place.startsWith(`cell ${queue} `);
  return nodes.some((node) => place === (places.has(`cell ${queue} ${node}`) ? `cell ${queue} ${node}` : `node ${node}`));
}

/** The chain of causes of a story that a player shows, without a slider: the moment of a link is that of its movement. */
function played_chain(player, movements, links, caption) {
  if (!links?.length) return null;
  const phase_of = ({ t, queue, nodes }) => movements.find((one) =>
    one.t === t && (queue ? one.queue === queue : nodes.some((node) => one.places.includes(node))))?.phase;
  const on = {
    point: (link) => {
      player.picture.light(link);
      if (!player.is_moving) caption.textContent = link?.told ?? player.caption();
    },
    go: (link) => {
      const phase = phase_of(link);
      if (phase !== undefined) player.look_at(phase - movements[0].phase);
      on.point(link);
    },
  };
  return chain(links.map((link) => ({ ...link, position: null })), on, 0);
}

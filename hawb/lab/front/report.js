// A report's own page within a notebook, as high as its content. The page runs nothing and fetches nothing.

function render({ model, el }) {
  el.classList.add("hawb-lesson", "hf");
  const frame = make("iframe", { class: "hf-page", title: model.get("title"), sandbox: "allow-same-origin" });
  const fit = () => {
    const page = frame.contentDocument?.documentElement;
    if (page) frame.style.height = `${page.scrollHeight}px`;
  };
  const resized = new ResizeObserver(fit);
  frame.addEventListener("load", () => {
    fit();
    if (frame.contentDocument?.body) resized.observe(frame.contentDocument.body); // parts of the page can be opened
  });
  const changed = () => {
    frame.hidden = !model.get("page");
    frame.style.height = "";
    frame.srcdoc = model.get("page");
  };
  el.replaceChildren(frame);
  model.on("change:page", changed);
  changed();
  return () => {
    resized.disconnect();
    model.off("change:page", changed);
  };
}

export default { render };

// A report's own page within a notebook, as high as its content and as light or dark as the notebook. The page runs
// nothing and fetches nothing.

const DARK = /\(prefers-color-scheme:\s*dark\)/;

function render({ model, el }) {
  el.classList.add("hawb-lesson", "hf");
  const frame = make("iframe", { class: "hf-page", title: model.get("title"), sandbox: "allow-same-origin" });
  const fit = () => {
    const page = frame.contentDocument?.documentElement;
    if (page) frame.style.height = `${page.scrollHeight}px`;
  };
  const resized = new ResizeObserver(fit);
  frame.addEventListener("load", () => {
    dye(frame.contentDocument, getComputedStyle(el).colorScheme.includes("dark"));
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

/** Has a page follow the notebook's theme in place of the system's. */
function dye(page, is_dark) {
  if (!page) return;
  page.documentElement.style.colorScheme = is_dark ? "dark" : "light";
  for (const sheet of page.styleSheets) {
    for (const { media } of sheet.cssRules) {
      if (media && DARK.test(media.mediaText)) media.mediaText = media.mediaText.replace(DARK, is_dark ? "(min-width: 0)" : "(max-width: 0)");
    }
  }
}

export default { render };

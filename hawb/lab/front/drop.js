// A place for files: drop files or folders on it, or choose files. Python gets their contents; nothing is stored.

const MOST_BYTES = 8e6; // Jupyter closes the connection to a page that sends more than 10 MB at once

function render({ model, el }) {
  dictionary = model.get("words");
  el.lang = language = model.get("tag");
  el.classList.add("hawb-lesson", "hf");
  const field = make("input", { type: "file", multiple: true, "aria-label": model.get("description"), onchange: () => take([...field.files]) });
  const place = make("label", { class: "hf-place" }, make("b", { text: word("Drop files here, or choose them") }), make("small", { text: model.get("description") }), field);
  const refused = make("p", { class: "hf-refused", role: "alert" });
  el.replaceChildren(place, refused);
  keep_keys(el);

  async function take(files) {
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    refused.textContent = bytes > MOST_BYTES
      ? word("These files have {count} MB; a page accepts at most {most} MB. Use the command in a terminal.", { count: whole(Math.ceil(bytes / 1e6)), most: whole(MOST_BYTES / 1e6) }) : "";
    if (!files.length || bytes > MOST_BYTES) return;
    const contents = await Promise.all(files.map((file) => file.arrayBuffer()));
    model.send({ names: files.map(({ name }) => name) }, undefined, contents);
    field.value = ""; // so that the same file can be chosen again
  }

  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("hf-over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("hf-over"));
  place.addEventListener("drop", async (event) => {
    event.preventDefault();
    place.classList.remove("hf-over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    take(entries.length ? (await Promise.all(entries.map(files_of))).flat() : [...event.dataTransfer.files]);
  });
}

/** The files of an entry that was dropped: a file, or all files of a folder. */
async function files_of(entry) {
  if (entry.isFile) return [await new Promise((done, fail) => entry.file(done, fail))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    for (const one of some) found.push(...await files_of(one));
  }
}

export default { render };

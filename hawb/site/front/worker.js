// Python, in a worker so that the page stays alive: the engine as it is, with a library for patterns that the page brings.
// The page's first message says where to begin, each other one is for the lab or, with `?lesson`, for the lesson.
import { loadPyodide } from "./runtime/pyodide.mjs";
import { pattern_library } from "./patterns.js";

const fetched = async (name) => (await fetch(`runtime/${name}`)).arrayBuffer();
const [played, more] = location.search === "?lesson" ? ["hawb.site.lesson", ["lessons.zip"]] : ["hawb.site.lab", []];

async function engine() {
  const [python, library, ...archives] = await Promise.all([
    loadPyodide({ indexURL: "runtime/" }), pattern_library(), ...["msgspec.whl", "hawb.zip", ...more].map(fetched),
  ]);
  python.registerJsModule("pcre2_library", library);
  archives.forEach((archive) => python.unpackArchive(archive, "wheel"));
  const { begin } = python.pyimport(played);
  let lab = null;
  return (message) => {
    const told = python.toPy(message);
    if (lab) lab.receive(told);
    else lab = begin(message.address, message.language, told.get("messages"), (state) => postMessage({ state }));
  };
}

const failed = (error) => postMessage({ failed: String(error) });
const started = engine();
started.then(() => postMessage({ ready: true })).catch(failed);
self.onmessage = ({ data }) => started.then((take) => take(data)).catch(failed);

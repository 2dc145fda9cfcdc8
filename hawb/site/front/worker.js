// Python, in a worker so that the page stays alive: the engine as it is, with a library for patterns that the page brings.
import { loadPyodide } from "./runtime/pyodide.mjs";
import { pattern_library } from "./patterns.js";

const fetched = async (name) => (await fetch(`runtime/${name}`)).arrayBuffer();

async function begin(story) {
  const said = (stage) => postMessage({ stage });
  said("Fetching Python…");
  const [python, library, ...archives] = await Promise.all([
    loadPyodide({ indexURL: "runtime/" }), pattern_library(), fetched("msgspec.whl"), fetched("hawb.zip"),
  ]);
  said("Unpacking hawb…");
  python.registerJsModule("pcre2_library", library);
  archives.forEach((archive) => python.unpackArchive(archive, "wheel"));
  said("Starting the engine…");
  const lab = python.pyimport("hawb.site.lab").begin(story, (state) => postMessage({ state }));
  return (message) => lab.receive(python.toPy(message));
}

let receive = null;
self.onmessage = ({ data }) => {
  const failed = (error) => postMessage({ failed: String(error) });
  try {
    if (receive) receive.then((take) => take(data)).catch(failed);
    else {
      receive = begin(data.begin);
      receive.catch(failed);
    }
  } catch (error) {
    failed(error);
  }
};

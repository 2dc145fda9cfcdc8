// The library for patterns, for Python to call: hawb/site/runtime/pcre2.py. A letter is a byte.
import { pcre2 } from "./runtime/libpcre2.mjs";

/** What is asked of it, once it has been loaded. */
export async function pattern_library() {
  await pcre2.loaded;
  const wrap = (name, ...takes) => pcre2.cwrap(name, "number", takes);
  const compile = wrap("compile", "array", "number", "string");
  const match = wrap("match", "number", "array", "number", "number", "number");
  const data_for = wrap("createMatchData", "number");
  const forget = wrap("destroyMatchData", "number");
  const say = wrap("lastErrorMessage", "number", "number");
  const place = wrap("lastErrorOffset");
  const spread = (text) => Uint8Array.from({ length: 2 * text.length }, (_, at) => (at % 2 ? 0 : text.charCodeAt(at / 2)));
  return {
    compiled: (text) => compile(spread(text), text.length, ""),
    found: (code, text) => {
      const data = data_for(code);
      const result = match(code, spread(text), text.length, 0, data);
      forget(data);
      return result;
    },
    error_words: () => {
      const buffer = pcre2._malloc(512);
      const length = say(buffer, 256);
      const words = String.fromCharCode(...pcre2.HEAPU16.subarray(buffer >> 1, (buffer >> 1) + length));
      pcre2._free(buffer);
      return words;
    },
    error_place: () => place(),
  };
}

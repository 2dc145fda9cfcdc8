// Move between slides by the keys of a keyboard or a presenter's remote control.
"use strict";
(() => {
  const slides = [...document.querySelectorAll(".slide")];
  const steps = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
  const ends = { Home: 0, End: slides.length - 1 };

  // The slide with the smallest distance between its top and the window's.
  function shown() {
    const distances = slides.map(slide => Math.abs(slide.getBoundingClientRect().top));
    return distances.indexOf(Math.min(...distances));
  }

  addEventListener("keydown", event => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = shown();
    const scrolls = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (scrolls && slides[at].offsetHeight > innerHeight + 1) return;
    const next = event.key in ends ? ends[event.key] : at + (steps[event.key] ?? NaN);
    if (Number.isNaN(next)) return;
    event.preventDefault();
    const slide = slides[Math.max(0, Math.min(next, slides.length - 1))];
    slide.scrollIntoView({ behavior: "instant", block: "start" });
    slide.focus({ preventScroll: true });
  });
})();

// The index: which stories have all the words that were typed, end in the chosen way, and are of the chosen release.
"use strict";
(() => {
  const words = document.getElementById("words");
  const version = document.getElementById("version");
  const none = document.querySelector(".ws-none");
  const folded = (text) => text.toLowerCase();
  const stories = [...document.querySelectorAll(".ws-stories > li")].map((item) => ({
    item, tone: item.dataset.tone, version: item.dataset.version,
    text: folded(`${item.textContent} ${item.querySelector("a").getAttribute("href")} ${item.closest("section").querySelector("h2").textContent}`),
  }));
  const groups = [...document.querySelectorAll(".ws-index section")].map((section) => {
    const link = document.querySelector(`.ws-index nav a[href="#${section.id}"]`);
    return { section, link, count: link.querySelector("small") };
  });

  function find() {
    const wanted = folded(words.value).split(/\s+/).filter(Boolean);
    const { value: tone } = document.querySelector("input[name=tone]:checked");
    let found = 0;
    for (const story of stories) {
      const is_found = (!tone || story.tone === tone) && (!version.value || story.version === version.value)
        && wanted.every((word) => story.text.includes(word));
      story.item.hidden = !is_found;
      found += is_found;
    }
    for (const { section, link, count } of groups) {
      const left = section.querySelectorAll("li:not([hidden])").length;
      section.hidden = link.parentElement.hidden = left === 0;
      count.textContent = left;
    }
    none.hidden = found > 0;
  }

  document.querySelector(".ws-find").addEventListener("input", find);
  document.querySelector(".ws-find").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== words) {
      event.preventDefault();
      words.focus();
    }
  });
  find(); // what a browser kept of the form when a reader comes back
})();

/** The schema's page: the search shows the parts, and the entries of the index, that hold all words. */
const field = document.querySelector("#search");
const parts = [...document.querySelectorAll("#parts section")].map((part) => ({
  part,
  entry: document.querySelector(`.schema nav a[href="#${CSS.escape(part.id)}"]`)?.parentElement,
  text: part.textContent.toLowerCase(),
}));

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { part, entry, text } of parts) {
    const isFound = words.every((word) => text.includes(word));
    part.hidden = !isFound;
    if (entry) entry.hidden = !isFound;
    if (isFound) found += 1;
  }
  document.querySelector("#found").textContent = words.length === 0 ? "" : `${found} of ${parts.length}`;
}

field.addEventListener("input", show);

/** The schema's page: the search shows the parts, and the entries of the index, that hold all terms. */
const field = document.querySelector("#search");
const parts = [...document.querySelectorAll("#parts section")].map((part) => ({
  part,
  entry: document.querySelector(`.schema nav a[href="#${CSS.escape(part.id)}"]`)?.parentElement,
  text: part.textContent.toLowerCase(),
}));

function show() {
  const terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { part, entry, text } of parts) {
    const isFound = terms.every((term) => text.includes(term));
    part.hidden = !isFound;
    if (entry) entry.hidden = !isFound;
    if (isFound) found += 1;
  }
  document.querySelector("#found").textContent = terms.length === 0 ? "" : `${found} of ${parts.length}`;
}

field.addEventListener("input", show);

/** The first page: its commands have the address under which it was opened. */
for (const place of document.querySelectorAll("[data-origin]")) place.textContent = location.origin;

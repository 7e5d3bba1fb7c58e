// Light or dark: as the system has it, until the reader chooses. `theme` events on the document tell of a change.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
  root.dataset.theme = name;
  document.dispatchEvent(new CustomEvent("theme", { detail: name }));
}

setTheme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));

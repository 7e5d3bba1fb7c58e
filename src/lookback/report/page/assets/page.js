// Light or dark: as in the system's settings, until the reader chooses. A change sends a `theme` event to the document.
const root = document.documentElement;

{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const set = (theme) => {
    root.dataset.theme = theme;
    button.querySelector("[data-theme-name]").textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
    document.dispatchEvent(new CustomEvent("theme", { detail: theme }));
  };
  set(dark.matches ? "dark" : "light");
  button.hidden = false;
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  button.addEventListener("click", () => set(root.dataset.theme === "dark" ? "light" : "dark"));
}

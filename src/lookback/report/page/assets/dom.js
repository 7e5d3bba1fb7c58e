// An element with attributes and children. A text becomes a text node, so that no text of a corpus becomes markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function option(value, text) {
  return element("option", { value }, text);
}

// Calls `start` once, as soon as `target` is nearly on the screen: parts that nobody scrolls to take no time.
function whenNear(target, start) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      start();
    },
    { rootMargin: "800px" },
  );
  observer.observe(target);
}

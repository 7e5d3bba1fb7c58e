// The charts: the Vega-Lite specifications that are saved as files, in the page's style and in the variant that the
// reader chose. Colours are names of the page's own colours, so that a change of theme needs no new drawing.
const colors = payload("colors");
const NARROW = 560;
const NO_COLORS = new Set(["data", "datasets", "values", "domain", "title", "labelExpr", "description"]);

function recolored(node, colors) {
  if (typeof node === "string") return colors[node.toLowerCase()] ?? node;
  if (Array.isArray(node)) return node.map((part) => recolored(part, colors));
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, NO_COLORS.has(key) ? value : recolored(value, colors)]),
  );
}

// Axes of a narrow chart: counts without "n =", and titles in several lines.
function narrowed(node) {
  if (Array.isArray(node)) return node.map(narrowed);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (key === "labelExpr" && typeof value === "string") return [key, value.replaceAll('"n = ', '"')];
      return [key, key === "data" || key === "values" ? value : narrowed(value)];
    }),
  );
}

// A narrow chart has a legend above it: the names at the ends of the lines would leave no room for the lines.
function withoutLabels(spec) {
  return { ...spec, layer: spec.layer.filter(({ name }) => !name?.startsWith("label_")) };
}

// The arms that are drawn, [name, its text in the legend] each, in the legend's order.
function armsOf(spec) {
  const labels = spec.layer.find(({ name }) => name === "label_text")?.data.values ?? [];
  return labels.map(({ name, arm }) => [name, arm]);
}

// `spec` in the page's style: without its title, `width` pixels wide.
async function inPageStyle(spec, width) {
  const { title, ...rest } = recolored(spec, await colors);
  const narrow = width < NARROW;
  const config = { ...rest.config, background: "transparent", font: getComputedStyle(document.body).fontFamily };
  config.padding = { left: 2, right: narrow ? 6 : 2, top: 24, bottom: 4 };
  if (narrow) {
    config.axis = { ...config.axis, labelFontSize: 10, titleFontSize: 11.5, titleLimit: width - 20 };
    // outlines of the marks would be dashed as the lines are
    config.legend = { ...config.legend, disable: false, symbolStrokeWidth: 0, orient: "top", columns: 2, labelFontSize: 11.5, offset: 22, labelLimit: width / 2 - 30 };
    config.axisY = { ...config.axisY, titlePadding: 6 };
  }
  return {
    ...(narrow ? narrowed(withoutLabels(rest)) : rest),
    width,
    height: narrow ? 300 : Math.max(380, rest.height),
    autosize: { type: "fit-x", contains: "padding" },
    config,
  };
}

function embed(element, spec, renderer = "svg") {
  // `ast`: Vega interprets expressions, since the page's policy forbids code that is made from text
  return vegaEmbed(element, spec, {
    ast: true,
    actions: false,
    renderer,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  });
}

function download(name, href) {
  const link = element("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// A chart with this arm brought forward; with none, where its text is empty.
function withForward(spec, arm) {
  const highlighted = (param) => (param.name === "highlighted" ? { ...param, value: arm } : param);
  return spec.params ? { ...spec, params: spec.params.map(highlighted) } : spec;
}

async function save(spec, name, kind) {
  if (kind === "vl.json") {
    download(`${name}.vl.json`, `data:application/json,${encodeURIComponent(JSON.stringify(spec, null, 1))}`);
    return;
  }
  const { view } = await embed(document.createElement("div"), spec);
  if (kind === "svg") download(`${name}.svg`, `data:image/svg+xml,${encodeURIComponent(await view.toSVG())}`);
  else download(`${name}.png`, await view.toImageURL("png", 2));
  view.finalize();
}

function tabulate(table, variant) {
  const heading = (name) => element("th", { scope: "col" }, name);
  table.tHead.replaceChildren(element("tr", {}, ...variant.head.map(heading)));
  table.tBodies[0].replaceChildren(
    ...variant.rows.map(([first, ...cells]) =>
      element("tr", {}, element("th", { scope: "row" }, first), ...cells.map((cell) => element("td", {}, cell))),
    ),
  );
}

// The key of the chosen option: of a select, of segments, or of a slider.
function chosenOf(choice) {
  if (choice.dataset.options) return JSON.parse(choice.dataset.options)[Number(choice.value)][0];
  return choice.value ?? choice.querySelector("input:checked").value;
}

// Shows the slider's option beside it, and tells it to screen readers.
function showOption(slider) {
  const [, words] = JSON.parse(slider.dataset.options)[Number(slider.value)];
  slider.setAttribute("aria-valuetext", words);
  slider.nextElementSibling.textContent = words;
}

function chart(figure, variants) {
  const plot = figure.querySelector("[data-plot]");
  const choices = [...figure.querySelectorAll("[data-choice]")];
  const forward = figure.querySelector("[data-forward]"); // chooses the arm that is brought forward
  let drawn = null; // variant and width of what is drawn
  let result = null;

  // a chart with nothing to choose has one variant
  const chosen = () => (choices.length ? choices.map(chosenOf).join("/") : Object.keys(variants)[0]);

  async function draw() {
    // Vega's pixels are rem / 16: type in charts grows with the page's
    const scale = parseFloat(getComputedStyle(root).fontSize) / 16;
    const width = Math.floor(plot.clientWidth / scale);
    const key = chosen();
    if (width < 50 || drawn === `${key} ${width}`) return;
    drawn = `${key} ${width}`;
    const variant = variants[key];
    const target = document.createElement("div");
    const next = await embed(target, await inPageStyle(variant.spec, width));
    if (drawn !== `${key} ${width}`) return next.view.finalize(); // the reader chose another one meanwhile
    result?.view.finalize();
    result = next;
    bringForward(forward.value);
    listen(next.view);
    plot.replaceChildren(target);
    const svg = plot.querySelector("svg");
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    svg.setAttribute("aria-hidden", "true"); // screen readers get the plot's label and the table
    plot.setAttribute("aria-label", variant.description);
    plot.style.minHeight = "";
    figure.dataset.drawn = key;
  }

  // The text of an arm in the legend; empty, where the name is empty or not drawn.
  const armOf = (name) => armsOf(variants[chosen()].spec).find(([other]) => other === name)?.[1] ?? "";

  // Fades every arm but this one; none, where the name is empty or not drawn.
  function bringForward(name) {
    if (armsOf(variants[chosen()].spec).length) result?.view.signal("highlighted", armOf(name)).runAsync();
  }

  // An arm comes forward while its line or its name is pointed at, and stays where it is clicked.
  function listen(view) {
    const names = new Map(armsOf(variants[chosen()].spec).map(([name, arm]) => [arm, name]));
    view.addEventListener("mouseover", (_, item) => bringForward(names.get(item?.datum?.arm) ?? forward.value));
    view.addEventListener("mouseout", () => bringForward(forward.value));
    view.addEventListener("click", (_, item) => {
      const name = names.get(item?.datum?.arm) ?? "";
      forward.value = name === forward.value ? "" : name;
      bringForward(forward.value);
    });
  }

  function offerArms() {
    const names = armsOf(variants[chosen()].spec).map(([name]) => name);
    const kept = names.includes(forward.value) ? forward.value : "";
    forward.replaceChildren(option("", "every arm"), ...names.map((name) => option(name, name)));
    forward.value = kept;
    forward.parentElement.hidden = names.length < 3;
  }

  function describe() {
    const variant = variants[chosen()];
    figure.querySelector("[data-title]").textContent = variant.title;
    figure.querySelector("[data-caption]").replaceChildren(...variant.caption.map((line) => element("span", {}, line)));
    tabulate(figure.querySelector("[data-numbers]"), variant);
  }

  for (const choice of choices) {
    choice.addEventListener("input", () => {
      if (choice.dataset.options) showOption(choice);
      offerArms();
      describe();
      draw();
    });
  }
  offerArms();
  forward.addEventListener("input", () => bringForward(forward.value));
  for (const button of figure.querySelectorAll("[data-save]")) {
    const name = () => `${figure.dataset.figure}-${chosen().replaceAll("/", "-")}`;
    const shown = () => withForward(variants[chosen()].spec, armOf(forward.value));
    button.addEventListener("click", () => save(shown(), name(), button.dataset.save));
  }
  // drawn when it is nearly on the screen, and again when its width changes
  whenNear(plot, () => new ResizeObserver(() => requestAnimationFrame(draw)).observe(plot));
  addEventListener("beforeprint", draw);
}

for (const figure of document.querySelectorAll("[data-figure]")) {
  payload(figure.dataset.payload).then((variants) => chart(figure, variants[figure.dataset.figure]));
}

// The alignment viewer. One sentence, one word of its reference and one moment of training are chosen; two systems show
// where in the source they looked: in the mean of their layers and heads, or one of these, as it was at the last moment.
const END = "end";
const ZERO = "0".charCodeAt(0);
const STEP = 650; // milliseconds of a moment when played
const [SMALLEST, LARGEST] = [14, 30]; // side of a cell, in pixels at a type size of 16
const SVG = "http://www.w3.org/2000/svg";
const SHADES = [[255, 255, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]];
const COLORS = new Uint32Array(
  Array.from({ length: 101 }, (_, found) => {
    const at = (found / 100) * (SHADES.length - 1);
    const low = Math.min(Math.floor(at), SHADES.length - 2);
    const mixed = [0, 1, 2].map((c) => SHADES[low][c] + (at - low) * (SHADES[low + 1][c] - SHADES[low][c]));
    return new Uint32Array(Uint8ClampedArray.from([...mixed, 255]).buffer)[0];
  }),
); // of each whole percent: from white to the darkest blue
const noMotion = matchMedia("(prefers-reduced-motion: reduce)");

for (const viewer of document.querySelectorAll("[data-alignments]")) {
  whenNear(viewer, () =>
    view(viewer).catch((error) => {
      viewer.querySelector("[data-said]").textContent = `The alignments could not be unpacked: ${error.message}`;
    }),
  );
}

async function view(viewer) {
  const data = await payload(`alignments-${viewer.dataset.alignments}`);
  const part = (name) => viewer.querySelector(`[data-${name}]`);
  const [bucket, chosen, slider, play, target, said] =
    ["bucket", "sentence", "moment", "play", "target", "said"].map(part);
  const panels = Array.from(viewer.querySelectorAll("[data-system]"), (place) => panel(place, data, { choose, point }));
  if (data.systems.length < 2) panels.pop().place.remove();
  panels[0].select.value = 0;
  if (panels[1]) panels[1].select.value = data.opponent;
  part("gold").hidden = !data.has_gold;
  note(part("note"), data);

  let sentence; // the one that is shown
  let row = 0; // place of the chosen word in its reference
  let playing = null;

  const labels = [...new Set(data.sentences.map((each) => each.bucket))];
  bucket.append(...labels.map((label) => option(label, `${label} words`)));
  bucket.value = labels.at(1) ?? labels[0]; // the shortest sentences have little to show
  bucket.addEventListener("change", offer);
  chosen.addEventListener("change", () => show(Number(chosen.value)));
  slider.addEventListener("input", () => {
    stop();
    move();
  });
  play.addEventListener("click", () => (playing === null ? start() : stop()));
  noMotion.addEventListener("change", stop);
  for (const { select, look } of panels) {
    select.addEventListener("change", again);
    look.addEventListener("change", again);
  }
  target.addEventListener("keydown", step);
  stop();
  offer();

  function offer() {
    const of = data.sentences.map((each, place) => [each, place]).filter(([each]) => each.bucket === bucket.value);
    chosen.replaceChildren(...of.map(([each, place]) => option(place, `${each.id}: ${shortened(each.source.join(" "))}`)));
    show(of[0][1]);
  }

  function show(place) {
    sentence = place;
    const words = [...data.sentences[place].target, END];
    target.replaceChildren(
      ...words.map((word, at) => {
        const button = element("button", { type: "button", class: at === words.length - 1 ? "mark" : null }, word);
        button.addEventListener("click", () => choose(at));
        return button;
      }),
    );
    row = 0;
    again();
  }

  // Shows the sentence anew, after another one or another system was chosen.
  function again() {
    const before = share();
    for (const each of panels) each.show(sentence);
    const most = Math.max(...panels.map((each) => each.moments().length));
    if (most < 2) stop();
    slider.max = most - 1;
    slider.value = Math.round(before * (most - 1));
    slider.disabled = most < 2;
    play.disabled = most < 2;
    choose(row);
    move();
  }

  // The end of training until the reader moves the slider.
  function share() {
    return Number(slider.max) ? Number(slider.value) / Number(slider.max) : 1;
  }

  function move() {
    // the system with more moments sets the pace; the other one is shown at the same share of its training
    const moments = panels.map((each) => each.moments()).find(({ length }) => length === Number(slider.max) + 1);
    const done = progress(moments)[Number(slider.value)];
    for (const each of panels) each.move(done);
    const text = `${percent(100 * done)} of training`;
    part("share").textContent = text;
    slider.setAttribute("aria-valuetext", `${text}, ${when(moments[Number(slider.value)])}`);
    tell();
  }

  function choose(at) {
    row = at;
    [...target.children].forEach((button, place) => {
      button.setAttribute("aria-pressed", place === at);
      button.tabIndex = place === at ? 0 : -1;
    });
    for (const each of panels) each.choose(at);
    tell();
  }

  function point(at, column) {
    for (const each of panels) each.point(at, column);
  }

  function tell() {
    const word = target.children[row].textContent;
    const looks = panels.map((each) => `${each.named()} looked at: ${each.looked()}`);
    said.textContent = `“${word}”: ${looks.join("; ")}`;
  }

  function step(event) {
    const backwards = getComputedStyle(target).direction === "rtl";
    const last = target.children.length - 1;
    const to = {
      ArrowRight: row + (backwards ? -1 : 1),
      ArrowLeft: row + (backwards ? 1 : -1),
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(Math.min(Math.max(to, 0), last));
    target.children[row].focus();
  }

  function start() {
    const next = () => {
      slider.value = Number(slider.value) >= Number(slider.max) ? 0 : Number(slider.value) + 1;
      move();
      if (playing !== null && Number(slider.value) === Number(slider.max)) stop();
    };
    if (!noMotion.matches) {
      playing = setInterval(next, STEP);
      play.textContent = "Stop";
      said.setAttribute("aria-live", "off"); // too fast to be read aloud
    }
    next();
  }

  // A reader who wants no motion steps from moment to moment.
  function stop() {
    clearInterval(playing);
    playing = null;
    play.textContent = noMotion.matches ? "Next moment" : "Play";
    said.removeAttribute("aria-live");
  }
}

// One system: its name to choose, the source with the weights on it, and the heat map.
function panel(place, data, { choose, point }) {
  const part = (name) => place.querySelector(`[data-${name}]`);
  const [select, look, source, cell, heat] = ["name", "look", "source", "cell", "heat"].map(part);
  select.append(...data.systems.map(({ name }, at) => option(at, name)));
  const system = () => data.systems[Number(select.value)];

  const canvas = element("canvas");
  const overlay = document.createElementNS(SVG, "svg");
  const band = box("band");
  const cursor = box("cursor");
  const map = element("div", { class: "weights", tabindex: 0, role: "application" }, canvas, overlay);
  map.setAttribute("aria-roledescription", "heat map");
  const [top, left] = [element("div", { class: "top" }), element("div", { class: "left" })];
  heat.append(element("div", { class: "corner" }), top, left, map);
  overlay.setAttribute("preserveAspectRatio", "none");
  overlay.setAttribute("aria-hidden", "true");

  let sentence, weights, rows, columns;
  let head = -1; // place of the layer or head whose weights are shown; -1: their mean
  let offered = null; // the system whose layers and heads can be chosen
  let [row, moment] = [0, 0];
  let pointed = null; // [row, column] under the pointer, or where the arrow keys led

  // a cell's weights at all moments, or of all layers and heads, stand side by side
  const side = () => (head < 0 ? [system().moments.length, moment] : [system().looks.names.length, head]);
  const weight = (at, column) => {
    const [each, place] = side();
    return weights.charCodeAt((at * columns + column) * each + place) - ZERO;
  };
  // a single layer or head is known at the last moment alone
  const moments = () => (head < 0 ? system().moments : system().moments.slice(-1));
  const named = () => (head < 0 ? system().name : `${system().name}, ${system().looks.names[head]}`);
  const words = () => [[...sentence.target, END], [...sentence.source, END]];

  function show(at) {
    sentence = data.sentences[at];
    offerLooks();
    const ofLooks = system().looks?.weights[at];
    head = ofLooks && look.value !== "" ? Number(look.value) : -1;
    weights = head < 0 ? system().weights[at] : ofLooks;
    sayLook(ofLooks);
    [rows, columns] = [sentence.target.length + 1, sentence.source.length + 1];
    pointed = null;
    const [targets, sources] = words();
    source.replaceChildren(
      ...sources.map((word, column) =>
        element(
          "span",
          { class: column === columns - 1 ? "word mark" : "word" },
          element("span", {}, word),
          element("small"),
          element("span", { class: "unseen" }),
        ),
      ),
    );
    top.replaceChildren(...sources.map((word) => element("span", { title: word }, element("bdi", {}, word))));
    left.replaceChildren(...targets.map((word) => element("span", { title: word }, element("bdi", {}, word))));
    [canvas.width, canvas.height] = [columns, rows];
    overlay.setAttribute("viewBox", `0 0 ${columns} ${rows}`);
    size(band, 0, 0, columns, 1);
    overlay.replaceChildren(...gold(sentence, "possible"), ...gold(sentence, "sure"), band, cursor);
    fit();
  }

  // The layers and heads of the system, each with its alignment error rate; the one that was chosen stays, if it has it.
  function offerLooks() {
    if (offered === system()) return;
    offered = system();
    const { names, aer, mean_aer: mean } = offered.looks ?? { names: [], aer: [], mean_aer: null };
    const best = lowest(aer);
    const rated = (name, rate) => (rate === null ? name : `${name} · AER ${rate.toFixed(2)}`);
    const singles = names.map((name, at) => option(at, rated(name, aer[at]) + (at === best ? ", best single one" : "")));
    const before = look.selectedOptions[0]?.dataset.look;
    look.replaceChildren(option("", rated(`mean of ${several(names)}`, mean)), ...singles);
    names.forEach((name, at) => (look.options[at + 1].dataset.look = name));
    look.value = names.includes(before) ? names.indexOf(before) : "";
    part("looks").hidden = !names.length;
    part("shown").hidden = !names.length;
  }

  // What is shown, and which layer or head aligns best.
  function sayLook(ofLooks) {
    const { names, aer, mean_aer: mean } = system().looks ?? { names: [] };
    if (!names.length) return;
    look.disabled = !ofLooks;
    const ofHeads = names.includes(`${names[head]} head 1`) ? ", the mean of its heads" : "";
    const shown = head < 0 ? `the mean of ${several(names)}` : `${names[head]}${ofHeads}, at the last moment`;
    const best = lowest(aer);
    const beside = mean === null ? "" : `; the mean ${mean.toFixed(2)}`;
    const rates = best < 0 ? "" : ` Best single one on the test set: ${names[best]}, AER ${aer[best].toFixed(2)}${beside}.`;
    const left = ofLooks ? "" : " Of this sentence single ones were left out to keep the page small.";
    part("shown").textContent = `Shown: ${shown}.${rates}${left}`;
  }

  // Cells as large as the width allows; where they would be too small for a word beside them, the map scrolls.
  function fit() {
    if (!columns) return;
    const room = heat.clientWidth - left.offsetWidth - 2;
    const scale = parseFloat(getComputedStyle(root).fontSize) / 16;
    const side = Math.max(SMALLEST * scale, Math.min(LARGEST * scale, Math.floor(room / columns)));
    heat.style.setProperty("--side", `${side}px`);
    heat.style.setProperty("--columns", columns);
    heat.style.setProperty("--rows", rows);
  }
  new ResizeObserver(fit).observe(heat);

  function move(done) {
    const known = moments();
    moment = nearest(progress(known), done);
    part("progress").textContent = when(known[moment]);
    map.setAttribute(
      "aria-label",
      `Weights of ${named()}, ${when(known[moment])}: ${rows} target words by ${columns} source words. ` +
        "Arrow keys go from cell to cell, Enter chooses the target word.",
    );
    paint();
    light();
  }

  function paint() {
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const [each, place] = side();
    for (let at = 0; at < pixels.length; at++) pixels[at] = COLORS[weights.charCodeAt(at * each + place) - ZERO];
    canvas.getContext("2d").putImageData(image, 0, 0);
    if (pointed) read();
  }

  function light() {
    const kinds = new Map();
    for (const kind of ["possible", "sure"]) {
      for (const [column, at] of sentence[kind]) if (at === row) kinds.set(column, kind);
    }
    [...source.children].forEach((word, column) => {
      const found = weight(row, column);
      const kind = kinds.get(column);
      word.style.setProperty("--weight", found / 100);
      word.classList.toggle("looked", found > 0);
      word.classList.toggle("sure", kind === "sure");
      word.classList.toggle("possible", kind === "possible");
      word.children[1].textContent = found > 0 ? percent(found) : "";
      word.children[2].textContent = kind ? (kind === "sure" ? " gold link" : " possible gold link") : "";
    });
  }

  function read() {
    const [targets, sources] = words();
    const [at, column] = pointed;
    cell.replaceChildren(
      element("bdi", {}, targets[at]), " looked at ", element("bdi", {}, sources[column]), ": ",
      element("strong", {}, percent(weight(at, column))),
    );
  }

  function looked() {
    const [, sources] = words();
    const found = sources.map((word, column) => [weight(row, column), word]).filter(([number]) => number >= 5);
    found.sort(([one], [other]) => other - one);
    const named = found.slice(0, 4).map(([number, word]) => `${word} ${percent(number)}`);
    return named.join(", ") || "no word with 5 % or more";
  }

  map.addEventListener("pointermove", (event) => point(...under(event)));
  map.addEventListener("pointerleave", () => point(null));
  map.addEventListener("click", (event) => choose(under(event)[0]));
  map.addEventListener("focus", () => {
    cell.setAttribute("aria-live", "polite");
    if (!pointed) point(row, 0);
  });
  map.addEventListener("blur", () => {
    cell.removeAttribute("aria-live");
    point(null);
  });
  map.addEventListener("keydown", (event) => {
    const [at, column] = pointed ?? [row, 0];
    const to = {
      ArrowRight: [at, column + 1],
      ArrowLeft: [at, column - 1],
      ArrowDown: [at + 1, column],
      ArrowUp: [at - 1, column],
    }[event.key];
    if (event.key === "Enter") choose(at);
    if (!to) return;
    event.preventDefault();
    point(Math.min(Math.max(to[0], 0), rows - 1), Math.min(Math.max(to[1], 0), columns - 1));
    reveal();
  });

  function under(event) {
    const area = canvas.getBoundingClientRect();
    const inside = (part, whole, most) => Math.min(Math.max(Math.floor((part / whole) * most), 0), most - 1);
    return [
      inside(event.clientY - area.top, area.height, rows),
      inside(event.clientX - area.left, area.width, columns),
    ];
  }

  // Scrolls the map to the cell that the arrow keys went to.
  function reveal() {
    const side = canvas.clientWidth / columns;
    const [at, column] = pointed;
    const [width, height] = [heat.clientWidth - left.offsetWidth, heat.clientHeight - top.offsetHeight];
    heat.scrollLeft = Math.min(Math.max(heat.scrollLeft, (column + 2) * side - width), Math.max(0, column - 1) * side);
    heat.scrollTop = Math.min(Math.max(heat.scrollTop, (at + 2) * side - height), Math.max(0, at - 1) * side);
  }

  return {
    place, select, look, moments, named, show, move, looked,
    choose(at) {
      row = at;
      band.setAttribute("y", at);
      [...left.children].forEach((label, position) => label.classList.toggle("chosen", position === at));
      light();
    },
    point(at, column) {
      pointed = at === null ? null : [at, column];
      cursor.classList.toggle("there", pointed !== null);
      if (!pointed) return cell.replaceChildren();
      size(cursor, column, at, 1, 1);
      read();
    },
  };
}

function gold(sentence, kind) {
  return sentence[kind].map(([column, row]) => size(box(kind), column + 0.06, row + 0.06, 0.88, 0.88));
}

function box(name) {
  const made = document.createElementNS(SVG, "rect");
  made.setAttribute("class", name);
  return made;
}

function size(rectangle, x, y, width, height) {
  for (const [name, value] of Object.entries({ x, y, width, height })) rectangle.setAttribute(name, value);
  return rectangle;
}

// The share of the training that was done at each moment.
function progress(moments) {
  return moments.map(([epoch]) => epoch / (moments.at(-1)[0] || 1));
}

function nearest(shares, done) {
  return shares.reduce((best, share, at) => (Math.abs(share - done) < Math.abs(shares[best] - done) ? at : best), 0);
}

function when([epoch, updates]) {
  const text = `epoch ${Number(epoch.toPrecision(3))}`;
  return updates === null ? text : `${text} · ${updates.toLocaleString("en")} updates`;
}

// Place of the smallest number; -1 where none is known.
function lowest(numbers) {
  const known = numbers.filter((number) => number !== null);
  return known.length ? numbers.indexOf(Math.min(...known)) : -1;
}

// "8 heads", or "4 layers with 8 heads each".
function several(names) {
  const layers = names.filter((name) => /^layer \d+$/.test(name)).length;
  const heads = (names.length - layers) / (layers || 1);
  if (!layers) return `${heads} heads`;
  return heads ? `${layers} layers with ${heads} heads each` : `${layers} layers`;
}

function percent(number) {
  return `${Math.round(number)} %`;
}

function shortened(text) {
  return text.length > 70 ? `${text.slice(0, 69)}…` : text;
}

function note(place, data) {
  const [moments, sentences] = data.left_out;
  const lines = [];
  if (data.nowhere.length) {
    lines.push(`Without alignments, because their attention looks nowhere: ${data.nowhere.join(", ")}.`);
  }
  if (moments) lines.push(`${moments} moments of training were left out to keep the page small.`);
  if (sentences) lines.push(`${sentences} sentences of the sample were left out to keep the page small.`);
  place.textContent = lines.join(" ");
  place.hidden = !lines.length;
}

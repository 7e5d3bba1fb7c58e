// The sentence browser: what two systems wrote, a page of sentences at a time, with the differences to the reference.
const PAGE = 5; // sentences; on a phone each takes about two screens
const ORDERS = {
  differ: ["largest difference", (one, other) => Math.abs(one - other)],
  first: ["first system better", (one, other) => one - other],
  second: ["second system better", (one, other) => other - one],
  test: ["order of the test set", () => 0],
};
const ALONE = { worst: ["lowest score", (score) => -score], test: ORDERS.test };

for (const browser of document.querySelectorAll("[data-sentences]")) {
  whenNear(browser, () =>
    browse(browser).catch((error) => {
      browser.querySelector("[data-count]").textContent = `The sentences could not be unpacked: ${error.message}`;
    }),
  );
}

async function browse(browser) {
  const data = await payload(`sentences-${browser.dataset.sentences}`);
  const part = (name) => browser.querySelector(`[data-${name}]`);
  const [bucket, first, second, order, search, missing] =
    ["bucket", "first", "second", "order", "search", "missing"].map(part);
  const orders = data.systems.length > 1 ? ORDERS : ALONE;
  bucket.append(...data.buckets.map(([label], place) => option(place, `${label} words`)));
  for (const select of [first, second]) select.append(...data.systems.map((name, place) => option(place, name)));
  order.append(...Object.entries(orders).map(([key, [name]]) => option(key, name)));
  second.value = data.opponent;
  part("second-choice").hidden = data.systems.length < 2;
  if (data.each !== null) {
    const shown = `${count(data.sentences.length)} of ${count(data.total)} sentences are in this page`;
    part("note").textContent =
      `${shown}: of each length at most ${count(data.each)}, half of them those on which the systems' scores differ ` +
      "most, half at regular distances.";
    part("note").hidden = false;
  }

  let place = 0;
  let found = [];

  function find() {
    const wanted = search.value.trim().toLowerCase();
    const [low, high] = range(data.buckets, bucket.value);
    const [one, other] = [Number(first.value), Number(second.value)];
    const [, worth] = orders[order.value];
    found = data.sentences
      .filter(([, length]) => length > low && length <= high)
      .filter(([, , source, reference, outputs]) =>
        [source, reference, outputs[one], outputs[other]].some((text) => text.toLowerCase().includes(wanted)),
      )
      .map((sentence) => ({ sentence, worth: worth(sentence[5][one], sentence[5][other]) }))
      .sort((left, right) => right.worth - left.worth)
      .map(({ sentence }) => sentence);
    turn(0);
  }

  function turn(to) {
    place = to;
    const shown = found.slice(place, place + PAGE);
    const systems = data.systems.length > 1 ? [Number(first.value), Number(second.value)] : [0];
    part("found").replaceChildren(...shown.map((sentence) => item(sentence, systems, data.systems, missing.checked)));
    part("found").start = place + 1;
    part("missing-key").hidden = !missing.checked;
    part("count").textContent = shown.length
      ? `${count(place + 1)}–${count(place + shown.length)} of ${count(found.length)} sentences`
      : "No sentence has that.";
    for (const button of browser.querySelectorAll("[data-previous]")) button.disabled = place === 0;
    for (const button of browser.querySelectorAll("[data-next]")) button.disabled = place + PAGE >= found.length;
  }

  for (const choice of [bucket, first, second, order]) choice.addEventListener("change", find);
  search.addEventListener("input", find);
  missing.addEventListener("change", () => turn(place));
  for (const [name, step] of [["previous", -PAGE], ["next", PAGE]]) {
    for (const button of browser.querySelectorAll(`[data-${name}]`)) {
      button.addEventListener("click", () => {
        turn(place + step);
        if (button.closest(".end")) browser.querySelector(".turn").scrollIntoView({ block: "start" });
      });
    }
  }
  find();
}

// Source lengths of a bucket: above the first number, up to the second.
function range(buckets, chosen) {
  if (chosen === "") return [-1, Infinity];
  const before = chosen > 0 ? buckets[chosen - 1][1] : -1;
  return [before, buckets[chosen][1] ?? Infinity];
}

function item([id, length, source, reference, outputs, scores, truncated], systems, names, missing) {
  const lines = systems.map((system) => {
    const cut = truncated.includes(system) ? [" ", element("span", { class: "cut" }, "cut at the length limit")] : [];
    const score = element("span", { class: "score" }, `BLEU ${(scores[system] / 10).toFixed(1)}`);
    const output = element("dd", { dir: "auto" }, ...compared(reference, outputs[system], missing));
    return [element("dt", {}, element("bdi", {}, names[system]), " ", score, ...cut), output];
  });
  const about = `Sentence ${count(id)} · ${count(length)} ${length === 1 ? "word" : "words"}`;
  const gap = systems.length > 1 ? [` · difference ${withSign((scores[systems[0]] - scores[systems[1]]) / 10)}`] : [];
  return element(
    "li",
    {},
    element("p", { class: "about" }, about, ...gap),
    element(
      "dl",
      {},
      element("dt", {}, "Source"),
      element("dd", { dir: "auto" }, source),
      element("dt", {}, "Reference"),
      element("dd", { dir: "auto" }, reference),
      ...lines.flat(),
    ),
  );
}

// The output as nodes: <ins> around words that the reference lacks, <del> around words that the output lacks.
function compared(reference, output, missing) {
  if (!output.trim()) return [element("em", {}, "nothing")];
  const nodes = [];
  for (const { tag, words } of differences(pieces(reference), pieces(output))) {
    if (tag === "del" && !missing) continue;
    if (nodes.length) nodes.push(words[0].before || (tag === "del" || nodes.at(-1).nodeName === "DEL" ? " " : ""));
    const text = words.map((word, place) => (place ? word.before : "") + word.text).join("");
    nodes.push(tag ? element(tag, {}, text) : document.createTextNode(text));
  }
  return nodes;
}

// Words, or characters of scripts that put no spaces between words; `before` is the space in front.
const PIECE =
  /(\s*)(\p{sc=Han}|\p{sc=Hiragana}|\p{sc=Katakana}|\p{sc=Thai}|\p{sc=Lao}|\p{sc=Khmer}|\p{sc=Myanmar}|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+)/gu;

function pieces(text) {
  return Array.from(text.matchAll(PIECE), ([, before, word]) => ({ before, text: word }));
}

// Stretches of words that both have (no tag), only `right` has (ins) or only `left` has (del). What both have is a
// longest common subsequence, so that as few words as possible are marked.
function differences(left, right) {
  const width = right.length + 1;
  const longest = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        left[i].text === right[j].text
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const runs = [];
  const add = (tag, word) => {
    if (runs.at(-1)?.tag === tag) runs.at(-1).words.push(word);
    else runs.push({ tag, words: [word] });
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i].text === right[j].text) {
      add("", right[j++]);
      i++;
    } else if (i < left.length && (j === right.length || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      add("del", left[i++]);
    } else {
      add("ins", right[j++]);
    }
  }
  return runs;
}

function count(number) {
  return number.toLocaleString("en");
}

function withSign(number) {
  return (number > 0 ? "+" : number < 0 ? "−" : "±") + Math.abs(number).toFixed(1);
}

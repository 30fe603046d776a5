// Shows one position of the run: 0 is the start, k is after step k. Text is only ever set as
// text; nothing of the run becomes markup.
"use strict";
(() => {
  const story = JSON.parse(document.getElementById("story").textContent);
  const { nodes, steps, envelopes, texts, ending } = story;
  const last = steps.length;
  const byId = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  let at = 0;
  let onlyPast = false;

  // --- Small things -----------------------------------------------------------------------

  const make = (tag, className, ...content) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...content.filter((part) => part !== null));
    return element;
  };
  const link = (to, text) => {
    const a = make("a", "", text);
    a.href = "#" + to;
    a.addEventListener("click", (event) => {
      event.preventDefault();
      go(to);
    });
    return a;
  };
  const stepLink = (step) => (step === null ? "the start" : link(step + 1, "step " + (step + 1)));
  const between = (parts, separator) =>
    parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
  const name = (node) => (node === null ? "the driver" : nodes[node]);

  // --- Differences ------------------------------------------------------------------------

  // The lines of both texts in order, each with a mark: "", "minus" or "plus".
  const difference = (before, after) => {
    const a = before.split("\n");
    const b = after.split("\n");
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start++;
    let end = 0;
    while (
      end < a.length - start && end < b.length - start &&
      a[a.length - 1 - end] === b[b.length - 1 - end]
    ) end++;
    const middleA = a.slice(start, a.length - end);
    const middleB = b.slice(start, b.length - end);
    const lines = a.slice(0, start).map((line) => ["", line]);
    lines.push(...middle(middleA, middleB));
    lines.push(...a.slice(a.length - end).map((line) => ["", line]));
    return lines;
  };
  // A longest common subsequence, unless that would take too long.
  const middle = (a, b) => {
    const rest = (i, j) => [
      ...a.slice(i).map((line) => ["minus", line]),
      ...b.slice(j).map((line) => ["plus", line]),
    ];
    if (a.length * b.length > 250000) return rest(0, 0);
    const width = b.length + 1;
    const length = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        length[i * width + j] = a[i] === b[j]
          ? length[(i + 1) * width + j + 1] + 1
          : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
      }
    }
    const lines = [];
    let [i, j] = [0, 0];
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) {
        lines.push(["", a[i]]);
        i++;
        j++;
      } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
        lines.push(["minus", a[i++]]);
      } else {
        lines.push(["plus", b[j++]]);
      }
    }
    return [...lines, ...rest(i, j)];
  };
  // Lines of the same field beside each other: each that went with the one that came.
  const paired = (lines) => {
    const key = (line) => line.slice(0, line.indexOf(":") + 1);
    const result = [];
    for (let index = 0; index < lines.length; ) {
      let [minus, plus] = [[], []];
      while (lines[index]?.[0] === "minus") minus.push(lines[index++]);
      while (lines[index]?.[0] === "plus") plus.push(lines[index++]);
      if (minus.length === plus.length && minus.every(([, line], i) => key(line) === key(plus[i][1]))) {
        minus.forEach((line, i) => result.push(line, plus[i]));
      } else {
        result.push(...minus, ...plus);
      }
      if (minus.length + plus.length === 0) result.push(lines[index++]);
    }
    return result;
  };
  const block = (lines) =>
    make("pre", "", ...lines.map(([mark, line]) => make("span", mark, line + "\n")));
  const plain = (text) => block(text.split("\n").map((line) => ["", line]));
  const changed = (before, after) => {
    if (before === null && after === null) return null;
    if (before === null) return plain(texts[after]);
    if (after === null || before === after) return plain(texts[before]);
    return block(paired(difference(texts[before], texts[after])));
  };

  // --- One step ---------------------------------------------------------------------------

  const envelopeParts = (envelope) => {
    const handled = envelope.handled_at.map(stepLink);
    const fate = envelope.lost_at !== null
      ? [", lost at ", stepLink(envelope.lost_at)]
      : handled.length > 0 ? [", handled at ", ...between(handled, ", ")] : [", never handled"];
    return [
      make("p", "soft", `from ${name(envelope.from)} to ${name(envelope.to)}, sent at `,
        stepLink(envelope.sent_at), ...fate),
      plain(texts[envelope.what]),
    ];
  };
  const listed = (title, items) =>
    items.length === 0 ? [] : [make("h3", "", title), make("ul", "", ...items)];
  const code = (text) => make("li", "", make("code", "", text));
  const short = (index) => {
    const envelope = envelopes[index];
    const item = make("li", "", make("code", "", envelope.line),
      ` to ${name(envelope.to)}`);
    const next = envelope.handled_at[0];
    if (next !== undefined) item.append(", ", stepLink(next));
    return item;
  };
  // What happened at a step, as elements.
  const details = (index) => {
    const step = steps[index];
    const parts = [];
    if (step.panic !== null) parts.push(make("p", "bad", "panics: " + step.panic));
    if (step.envelope !== null) {
      const envelope = envelopes[step.envelope];
      parts.push(make("h3", "", envelope.from === null ? "Call" : "Message"));
      parts.push(...envelopeParts(envelope));
    }
    const state = changed(step.before, step.after);
    if (state) {
      const same = step.before === step.after;
      const who = name(step.node);
      parts.push(make("h3", "", same ? `State of ${who}, unchanged` : `State of ${who}, before and after`));
      parts.push(state);
    }
    for (const [observer, before, after] of step.observed) {
      parts.push(make("h3", "", `Observer ${story.observers[observer]}`), changed(before, after));
    }
    parts.push(...listed("Sends", step.sent.map(short)));
    parts.push(...listed("Lost", step.lost.map(short)));
    parts.push(...listed("Tells the world", step.outputs.map(code)));
    parts.push(...listed("Sets timers", step.timers_set.map(code)));
    parts.push(...listed("Cancels timers", step.timers_cancelled.map(code)));
    return parts;
  };

  const showStep = () => {
    const section = byId("step");
    if (at === 0) {
      section.replaceChildren(
        make("h2", "", "The start"),
        make("p", "soft", last === 0 ? "Nothing happens." : "Step through the run with the arrow keys, or j and k."),
      );
      return;
    }
    const step = steps[at - 1];
    const causes = step.causes.length === 0 ? null
      : make("p", "soft", "follows from ", ...between(step.causes.map(stepLink), ", "));
    const matters = step.matters ? null
      : make("p", "soft", "The end does not follow from this step.");
    section.replaceChildren(...[make("h2", "", `${at}. ${step.text}`), causes, matters]
      .filter((part) => part !== null), ...details(at - 1));
  };

  // --- The global state -------------------------------------------------------------------

  // Sent, not lost, and handled later or never.
  const inFlight = (position) =>
    envelopes.filter((envelope) => {
      const sent = envelope.sent_at === null || envelope.sent_at < position;
      const lost = envelope.lost_at !== null && envelope.lost_at < position;
      const done = envelope.handled_at.length > 0 && Math.max(...envelope.handled_at) < position;
      return sent && !lost && !done;
    });
  // What the reader opened or closed stays so; otherwise few nodes are open, many are closed.
  const folds = new Map();
  const fold = (key, open, title, className, ...content) => {
    const summary = make("summary", "", ...title);
    const element = make("details", className, summary, ...content);
    element.open = folds.get(key) ?? open;
    summary.addEventListener("click", () => folds.set(key, !element.open));
    return element;
  };
  const showGlobal = () => {
    const title = story.threads
      ? at === 0 ? "No thread has touched what it shares" : "What each thread did last"
      : at === 0 ? "Global state at the start" : `Global state after step ${at}`;
    const parts = [make("h2", "", title)];
    const moment = story.moments[at];
    nodes.forEach((node, index) => {
      const [state, timers, up] = [moment.states[index], moment.timers[index], moment.up[index]];
      const moved = at > 0 && steps[at - 1].node === index;
      const title = up !== false ? [node] : [node, make("span", "down-tag", " is down")];
      parts.push(fold("node " + index, nodes.length <= 6 || moved, title, moved ? "moved" : "",
        state === undefined ? null
          : story.threads ? make("p", "soft", texts[state] === "" ? "nothing yet" : texts[state])
          : plain(texts[state]),
        !timers?.length ? null : make("p", "soft", "timers pending: " + timers.join(", "))));
    });
    story.observers.forEach((observer, index) => {
      const state = moment.observers[index];
      if (state !== undefined) {
        parts.push(fold("observer " + index, true, [`observer ${observer}`], "", plain(texts[state])));
      }
    });
    if (story.threads && envelopes.length === 0) return byId("global").replaceChildren(...parts);
    const flying = inFlight(at).map((envelope) =>
      make("li", "", make("code", "", envelope.line),
        ` from ${name(envelope.from)} to ${name(envelope.to)}`));
    parts.push(fold("flight", true, [`in flight: ${flying.length}`], "",
      flying.length === 0 ? null : make("ul", "", ...flying)));
    byId("global").replaceChildren(...parts);
  };

  // What the property reads here, as far as the run tells.
  const showReads = () => {
    const section = byId("reads");
    if (!ending || ending.reads.length === 0) return section.replaceChildren();
    if (story.threads) {
      // Where threads stand is known of the end alone.
      if (at !== last) return section.replaceChildren();
      const rows = ending.reads.flatMap((read, index) => texts[read] === "" ? []
        : [make("tr", "bad", make("td", "", name(index)), make("td", "", texts[read]))]);
      const title = ending.trouble === null ? "A panic" : ending.trouble[0].toUpperCase() + ending.trouble.slice(1);
      return section.replaceChildren(make("h2", "bad", title), make("table", "", ...rows));
    }
    const reads = [...ending.reads_at_start];
    let moved = -1;
    steps.slice(0, at).forEach((step, index) => {
      if (step.view === null) return;
      const place = ending.observer === null ? step.node : 0;
      reads[place] = step.view;
      if (index === at - 1) moved = place;
    });
    const shown = at === last ? ending.reads : reads;
    const rows = shown.map((read, index) => {
      const who = ending.observer === null ? name(index) : story.observers[ending.observer];
      const culprit = ending.observer !== null || ending.culprits.includes(index);
      const classes = [];
      if (ending.violated && culprit && at === last) classes.push("bad");
      if (index === moved) classes.push("moved");
      const text = read === undefined ? "" : texts[read];
      return make("tr", classes.join(" "), make("td", "", who), make("td", "", text));
    });
    const bad = ending.violated && at === last;
    const title = bad ? `What breaks ${ending.property}` : `What ${ending.property} reads`;
    section.replaceChildren(make("h2", bad ? "bad" : "", title), make("table", "", ...rows));
  };

  // --- Moving -----------------------------------------------------------------------------

  const visible = (position) => position === 0 || !onlyPast || steps[position - 1].matters;
  const next = (from, by) => {
    let position = from + by;
    while (position > 0 && position <= last && !visible(position)) position += by;
    return position < 0 || position > last ? from : position;
  };
  const end = () => (visible(last) ? last : next(last, -1));

  const go = (position) => {
    at = Math.max(0, Math.min(last, position));
    for (const row of all("#list li")) {
      row.setAttribute("aria-selected", String(Number(row.dataset.at) === at));
    }
    for (const row of all(".row")) row.classList.toggle("current", Number(row.dataset.at) === at);
    for (const shape of all(".step, .arrow[data-at]")) {
      shape.classList.toggle("later", at > 0 && Number(shape.dataset.at) > at);
    }
    const step = at === 0 ? null : steps[at - 1];
    const hot = new Set(step ? [step.envelope, ...step.sent, ...step.lost] : []);
    for (const arrow of all(".arrow")) {
      const own = Number(arrow.dataset.at) === at || step?.sent.includes(Number(arrow.dataset.envelope));
      arrow.classList.toggle("hot", hot.has(Number(arrow.dataset.envelope)) && Boolean(own));
    }
    byId("place").textContent = at === 0 ? `start of ${last}` : `step ${at} of ${last}`;
    byId("back").disabled = byId("first").disabled = at === 0;
    byId("forward").disabled = byId("last").disabled = at === end();
    byId("list").setAttribute("aria-activedescendant", "at-" + at);
    const row = byId("at-" + at);
    const top = row.offsetTop;
    const run = byId("run");
    const room = run.clientHeight - 2 * row.offsetHeight;
    if (top < run.scrollTop) run.scrollTop = top - row.offsetHeight;
    else if (top > run.scrollTop + room) run.scrollTop = top - room;
    scrollToLane(step);
    showStep();
    showReads();
    showGlobal();
    try {
      history.replaceState(null, "", "#" + at);
    } catch {
      // A page that is embedded somewhere may not have a history.
    }
  };

  // With many nodes, the lane of the step may be out of sight.
  const scrollToLane = (step) => {
    const lane = step && step.node !== null ? document.querySelectorAll(".names div")[step.node] : null;
    if (!lane) return;
    const run = byId("run");
    const list = byId("list").offsetWidth;
    const { left, width } = lane.getBoundingClientRect();
    const x = left - run.getBoundingClientRect().left;
    const [from, to] = [x - width / 2, x + 1.5 * width];
    if (from < list) run.scrollLeft -= list - from;
    else if (to > run.clientWidth) run.scrollLeft += to - run.clientWidth;
  };

  byId("first").addEventListener("click", () => go(0));
  byId("last").addEventListener("click", () => go(end()));
  byId("back").addEventListener("click", () => go(next(at, -1)));
  byId("forward").addEventListener("click", () => go(next(at, 1)));
  byId("past").addEventListener("change", (event) => setPast(event.target.checked));
  byId("theme").addEventListener("click", () => switchTheme());

  const setPast = (on) => {
    onlyPast = on;
    byId("past").checked = on;
    document.body.classList.toggle("only-past", on);
    go(visible(at) ? at : next(at, -1));
  };
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const switchTheme = () => {
    const dark = !isDark();
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    byId("theme").setAttribute("aria-pressed", String(dark));
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    // In the panel, the keys that scroll do.
    const scrolls = ["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key);
    if (scrolls && byId("panel").contains(event.target)) return;
    const actions = {
      ArrowLeft: () => go(next(at, -1)), ArrowUp: () => go(next(at, -1)), k: () => go(next(at, -1)),
      ArrowRight: () => go(next(at, 1)), ArrowDown: () => go(next(at, 1)), j: () => go(next(at, 1)),
      Home: () => go(0), End: () => go(end()),
      m: () => byId("past").disabled || setPast(!onlyPast), t: switchTheme,
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    hideHint();
    action();
  });

  // --- Pointing ---------------------------------------------------------------------------

  // What is pointed at: a position, and the envelope of an arrow.
  const pointed = (target) => {
    const shape = target instanceof Element ? target.closest("[data-at], [data-envelope]") : null;
    if (!shape) return null;
    const envelope = shape.dataset.envelope === undefined ? null : Number(shape.dataset.envelope);
    const sent = envelope === null ? null : envelopes[envelope].sent_at;
    const position = shape.dataset.at === undefined ? (sent === null ? 0 : sent + 1) : Number(shape.dataset.at);
    return { shape, envelope, position };
  };
  byId("run").addEventListener("click", (event) => {
    const what = pointed(event.target);
    if (what) {
      hideHint();
      go(what.position);
    }
  });

  let waiting = 0;
  let hinted = null;
  const hideHint = () => {
    clearTimeout(waiting);
    hinted = null;
    byId("hint").hidden = true;
  };
  const showHint = (what, x, y) => {
    const hint = byId("hint");
    const parts = [];
    if (what.envelope !== null && (what.position === 0 || steps[what.position - 1].envelope !== what.envelope)) {
      parts.push(...envelopeParts(envelopes[what.envelope]));
    }
    if (what.position > 0 && what.shape.dataset.at !== undefined) {
      parts.push(make("p", "", `${what.position}. ${steps[what.position - 1].text}`), ...details(what.position - 1));
    }
    if (parts.length === 0) return;
    hint.replaceChildren(...parts);
    hint.hidden = false;
    const { width, height } = hint.getBoundingClientRect();
    hint.style.left = Math.max(8, Math.min(x + 16, innerWidth - width - 8)) + "px";
    hint.style.top = Math.max(8, Math.min(y + 16, innerHeight - height - 8)) + "px";
  };
  byId("run").addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const what = pointed(event.target);
    // A row of the list or of the background says nothing that the list does not.
    const pointless = !what || what.shape.classList.contains("row");
    if (pointless) return hideHint();
    if (hinted === what.shape) return;
    hideHint();
    hinted = what.shape;
    waiting = setTimeout(() => showHint(what, event.clientX, event.clientY), 150);
  });
  byId("run").addEventListener("pointerleave", hideHint);
  byId("run").addEventListener("scroll", hideHint);

  byId("theme").setAttribute("aria-pressed", String(isDark()));
  const wanted = Number.parseInt(location.hash.slice(1), 10);
  go(Number.isInteger(wanted) ? wanted : 0);
})();

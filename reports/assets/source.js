"use strict";
// The source views: two lists side by side that draw only the rows in sight, so that ten thousand
// lines scroll like ten. Data is unpacked when the first view comes near; see kprof/source_page.py.
(() => {
  const ROW = 21, SPARE = 12, DEFAULT_COLUMNS = 2;
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const short = (path) => path.split(/[\\/]/).pop();
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const number = (value) => (value === null ? "" : (value >= 1e5 ? compact : plain).format(value));
  const percent = (part) => (part > 0 && part < 0.0005 ? "<0.1 %" : `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`);

  let data = null;
  const ready = unpack();
  async function unpack() {
    const packed = document.getElementById("source-packed");
    if (!packed || typeof DecompressionStream === "undefined") return false;
    const bytes = Uint8Array.from(atob(packed.textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    data = JSON.parse(await new Response(stream).text());
    data.codes.forEach((code) => { code.text = code.text.split("\n"); });
    data.files.forEach((file) => { file.lines = file.text === null ? null : file.text.split("\n"); });
    return true;
  }

  // ---- a list of rows of one height, of which those in sight exist -----------------------------
  class List {
    constructor(view, label, draw) {
      this.view = view;
      this.draw = draw;
      this.rows = [];
      this.chosen = -1;
      this.head = make("div", { className: "head" });
      this.space = make("div", { className: "space" });
      this.window = make("div", { className: "window" });
      this.space.append(this.window);
      this.body = make("div", { className: "list", tabIndex: 0 }, this.head, this.space);
      this.body.setAttribute("role", "grid");
      this.body.setAttribute("aria-label", label);
      this.body.addEventListener("scroll", () => this.paint(), { passive: true });
      this.body.addEventListener("keydown", (event) => this.key(event));
      this.window.addEventListener("click", (event) => {
        const row = event.target.closest("[data-at]");
        if (row) this.choose(Number(row.dataset.at));
      });
    }

    fill(rows, longest, columns) {
      this.rows = rows;
      this.chosen = -1;
      this.body.setAttribute("aria-rowcount", rows.length);
      this.space.style.height = `${rows.length * ROW}px`;
      this.space.style.minWidth = this.head.style.minWidth = `calc(${longest + 2}ch + ${columns} * var(--cell) + 4.2em)`;
      this.drawn = null;
      this.paint();
    }

    paint() {
      const first = Math.max(0, Math.floor(this.body.scrollTop / ROW) - SPARE);
      const last = Math.min(this.rows.length, Math.ceil((this.body.scrollTop + (this.body.clientHeight || 480)) / ROW) + SPARE);
      if (this.drawn && this.drawn[0] === first && this.drawn[1] === last) return;
      this.drawn = [first, last];
      this.window.style.transform = `translateY(${first * ROW}px)`;
      this.window.replaceChildren(...this.rows.slice(first, last).map((row, place) => this.row(row, first + place)));
    }

    row(row, at) {
      const element = this.draw(row);
      element.classList.add("r");
      element.dataset.at = at;
      element.id = `${this.body.id}-${at}`;
      element.setAttribute("role", "row");
      element.setAttribute("aria-rowindex", at + 1);
      if (at === this.chosen) { element.classList.add("picked"); element.setAttribute("aria-selected", "true"); }
      return element;
    }

    again() { this.drawn = null; this.paint(); }

    show(at, middle = true) {
      const top = at * ROW, height = this.body.clientHeight - ROW;
      if (top < this.body.scrollTop || top > this.body.scrollTop + height - 2 * ROW) this.body.scrollTop = middle ? top - height / 3 : top < this.body.scrollTop ? top : top - height + 2 * ROW;
    }

    choose(at, told = true) {
      if (at < 0 || at >= this.rows.length) return;
      this.chosen = at;
      this.show(at, !told);
      this.again();
      this.body.setAttribute("aria-activedescendant", `${this.body.id}-${at}`);
      if (told) this.view.told(this, this.rows[at]);
    }

    key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const page = Math.max(1, Math.floor(this.body.clientHeight / ROW) - 2);
      const at = this.chosen;
      const goals = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.rows.length - 1 };
      if (event.key in goals) this.choose(Math.min(Math.max(goals[event.key], 0), this.rows.length - 1));
      else if (event.key === "Enter") this.view.other(this)?.body.focus();
      else if (event.key === "n" || event.key === "p") this.view.hot(event.key === "n" ? 1 : -1);
      else return;
      event.preventDefault();
    }
  }

  // ---- one kernel's view -----------------------------------------------------------------------
  class View {
    constructor(section) {
      this.section = section;
      this.kernel = data.kernels[section.dataset.source];
      this.code = data.codes[this.kernel.code];
      this.columns = Object.keys(data.columns).filter((name) => name in this.kernel.total);
      this.on = new Set(this.columns.filter((name) => name !== "executed" && name !== "active_threads" && name !== "stalled").slice(0, DEFAULT_COLUMNS));
      if (!this.on.size) this.columns.slice(0, DEFAULT_COLUMNS).forEach((name) => this.on.add(name));
      this.peak = {};
      for (const side of ["lines", "sass"]) this.peak[side] = Object.fromEntries(this.columns.map((name) => [name, Math.max(1e-12, ...this.kernel[side][name].map((value) => value ?? 0))]));
      this.at = new Map(this.kernel.line.map((line, row) => [`${this.kernel.file[row]}:${line}`, row]));
      this.files = [...new Set(this.kernel.file)];
      this.build();
      section.classList.add("viewing");
    }

    build() {
      const frame = this.section.querySelector(".viewer");
      this.spot = make("div", { className: "spot" });
      this.spot.setAttribute("aria-live", "polite");
      this.right = new List(this, "Instructions", (row) => this.instruction(row));
      this.right.body.id = `${this.section.id}-sass`;
      const panes = make("div", { className: "panes" });
      if (this.files.length) {
        this.left = new List(this, "Source lines", (row) => this.sourceLine(row));
        this.left.body.id = `${this.section.id}-text`;
        panes.append(this.left.body);
      }
      panes.append(this.right.body);
      panes.classList.toggle("alone", !this.left);
      frame.append(this.tools(), panes, this.spot, this.remark());
      if (this.left) this.open(this.files[0]);
      this.fillCode();
      this.hot(0);
    }

    tools() {
      const bar = make("div", { className: "tools" });
      if (this.files.length > 1) {
        this.select = make("select", { ariaLabel: "Source file" }, ...this.files.map((file) => make("option", { value: file, textContent: this.fileName(file) })));
        this.select.addEventListener("change", () => this.open(Number(this.select.value)));
        bar.append(this.select);
      } else if (this.files.length) bar.append(make("code", { textContent: this.fileName(this.files[0]), title: data.files[this.files[0]].name }));
      const chips = make("span", { className: "chips" });
      chips.setAttribute("role", "group");
      chips.setAttribute("aria-label", "Columns");
      this.columns.forEach((name) => {
        const chip = make("button", { type: "button", textContent: data.columns[name][0], title: data.columns[name][1] });
        chip.setAttribute("aria-pressed", this.on.has(name));
        chip.addEventListener("click", () => {
          if (!this.on.delete(name)) this.on.add(name);
          chip.setAttribute("aria-pressed", this.on.has(name));
          this.refresh();
        });
        chips.append(chip);
      });
      const hottest = make("button", { type: "button", textContent: "Next costly", title: "The next line by the first column; keys n and p" });
      hottest.addEventListener("click", () => this.hot(1));
      const large = make("button", { type: "button", textContent: "Enlarge" });
      large.addEventListener("click", () => this.enlarge(large));
      this.section.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.section.classList.contains("large")) this.enlarge(large); });
      bar.append(chips, hottest, large);
      return bar;
    }

    enlarge(button) {
      const large = this.section.classList.toggle("large");
      button.textContent = large ? "Back to the page" : "Enlarge";
      document.documentElement.classList.toggle("covered", large);
      this.left?.again();
      this.right.again();
      if (!large) this.section.scrollIntoView({ block: "nearest" });
    }

    fileName(file) {
      const name = data.files[file].name, twins = this.files.filter((other) => short(data.files[other].name) === short(name)).length > 1;
      return `${twins ? name : short(name)}${data.files[file].lines ? "" : " (text not at hand)"}`;
    }

    remark() {
      const said = [];
      const [lines, code] = this.kernel.left_out;
      if (lines) said.push(`${number(lines)} lines that cost least have no numbers here.`);
      if (code) said.push(`${number(code)} instructions are left out: those that cost least, and those without text.`);
      if (this.kernel.nothing.length) said.push(`Measured and zero: ${this.kernel.nothing.join("; ")}.`);
      if (this.kernel.line.some((line, row) => line > (data.files[this.kernel.file[row]].lines?.length ?? Infinity))) said.push("A text at hand ends before lines that cost: it is of another version than the program.");
      if (this.files.some((file) => !data.files[file].lines)) said.push("Text that the report does not hold: give kprof --source-dir DIR, or record with --embed-source.");
      return make("p", { className: "note", textContent: said.join(" ") });
    }

    // The heading of a list: the columns that are on, then the text.
    heading(list, label, text) {
      list.head.replaceChildren(make("span", { className: "n", textContent: label }), ...this.shown(list === this.left ? "lines" : "sass").map((name) => make("span", { className: "h", textContent: data.columns[name][0], title: data.columns[name][1] })), make("span", { className: "t", textContent: text }));
    }
    // A column that is empty in the file that is open would only take its room.
    shown(side) { return this.columns.filter((name) => this.on.has(name) && (side !== "lines" || this.filled.has(name))); }

    open(file) {
      this.file = file;
      this.filled = new Set(this.columns.filter((name) => this.kernel.lines[name].some((value, row) => value && this.kernel.file[row] === file)));
      if (this.select) this.select.value = file;
      const { lines } = data.files[file];
      const numbers = this.kernel.line.filter((_, row) => this.kernel.file[row] === file);
      // A text from another day may be shorter than the program's: what costs has a row all the same.
      const rows = (lines || []).map((_, place) => place + 1).concat(numbers.filter((line) => !lines || line > lines.length).sort((a, b) => a - b));
      this.heading(this.left, "line", short(data.files[file].name));
      this.left.fill(rows, lines ? lines.reduce((most, line) => Math.max(most, line.replace(/\t/g, "    ").length), 0) : 30, this.shown("lines").length);
    }

    fillCode() {
      this.heading(this.right, "+pc", "SASS");
      const rows = [];
      this.code.pc.forEach((pc, at) => {
        const gap = at > 0 && (this.code.function[at] !== this.code.function[at - 1] || pc - this.code.pc[at - 1] > 16);
        if (gap) rows.push(-1);
        rows.push(at);
      });
      this.place = new Map(rows.map((at, row) => [at, row]));
      this.right.fill(rows, this.code.text.reduce((most, text) => Math.max(most, text.length), 12), this.on.size);
    }

    refresh() {
      const { chosen } = this.right, line = this.left?.rows[this.left.chosen];
      const tops = [this.left?.body.scrollTop, this.right.body.scrollTop];
      if (this.left) { this.open(this.file); this.left.choose(this.left.rows.indexOf(line), false); this.left.body.scrollTop = tops[0]; }
      this.fillCode();
      this.right.choose(chosen, false);
      this.right.body.scrollTop = tops[1];
    }

    cells(side, row) {
      return this.shown(side).map((name) => {
        const value = row === undefined ? null : this.kernel[side][name][row];
        const cell = make("span", { className: "h", textContent: value ? number(value) : "" });
        if (value && name !== "active_threads") cell.style.setProperty("--p", `${(100 * value / this.peak[side][name]).toFixed(1)}%`);
        cell.setAttribute("role", "gridcell");
        return cell;
      });
    }

    sourceLine(line) {
      const row = this.at.get(`${this.file}:${line}`), { lines } = data.files[this.file];
      const text = make("span", { className: "t" });
      const known = lines?.[line - 1], raw = known ?? (lines ? "beyond the end of the text at hand" : "text not at hand");
      const comment = known === undefined ? 0 : raw.search(/\/\/|^\s*#\s/);
      if (comment < 0) text.textContent = raw;
      else text.append(raw.slice(0, comment), make("i", { textContent: raw.slice(comment) }));
      const element = make("div", {}, make("span", { className: "n", textContent: line }), ...this.cells("lines", row), text);
      if (row === undefined) element.classList.add("cold");
      if (this.lit?.lines.has(`${this.file}:${line}`)) element.classList.add("lit");
      return element;
    }

    instruction(at) {
      if (at < 0) return make("div", { className: "gap" }, make("span", { className: "n", textContent: "⋯" }));
      const raw = this.code.text[at], [, guard, opcode, rest] = /^(@\S+ )?(\S*)(.*)$/.exec(raw) || [null, "", raw, ""];
      const text = make("span", { className: "t" }, guard || "", make("b", { textContent: opcode }), rest || "");
      if (!raw) text.replaceChildren(make("i", { textContent: "not disassembled" }));
      const element = make("div", {}, make("span", { className: "n", textContent: this.code.pc[at].toString(16) }), ...this.cells("sass", at), text);
      if (this.lit?.code.has(at)) element.classList.add("lit");
      return element;
    }

    other(list) { return list === this.right ? this.left : this.right; }

    // The rows that cost most by the first column that is on, one after the other.
    hot(step) {
      const list = this.left || this.right, side = this.left ? "lines" : "sass";
      const name = this.shown()[0] || this.columns[0];
      if (!name) return;
      this.ranking = this.ranking?.name === name ? this.ranking : { name, place: 0, rows: this.kernel[side][name].map((value, row) => [value || 0, row]).sort((a, b) => b[0] - a[0]).filter(([value]) => value > 0).map(([, row]) => row) };
      const { rows } = this.ranking;
      if (!rows.length) return;
      if (step === 0) this.ranking.place = 0;
      else this.ranking.place = (this.ranking.place + step + rows.length) % rows.length;
      const row = rows[this.ranking.place];
      if (!this.left) list.choose(this.place.get(row));
      else this.goLine(this.kernel.file[row], this.kernel.line[row]);
    }

    goLine(file, line) {
      if (file !== this.file) this.open(file);
      const at = this.left.rows.indexOf(line);
      if (at >= 0) this.left.choose(at);
      this.left.show(Math.max(at, 0));
      return at >= 0;
    }
    // Addresses start anew in every function of a kernel: the text tells those of one address apart.
    goCode(pc, sass) {
      const same = this.code.pc.findIndex((one, at) => one === pc && this.code.text[at] === sass);
      const at = same >= 0 ? same : this.code.pc.indexOf(pc);
      if (at >= 0) this.right.choose(this.place.get(at));
      return at >= 0;
    }

    told(list, row) {
      if (list === this.right && row < 0) return;
      const lines = new Set(), code = new Set();
      if (list === this.right) {
        this.spotsOf(row).forEach(([file, line]) => lines.add(`${file}:${line}`));
        code.add(row);
      } else {
        lines.add(`${this.file}:${row}`);
        this.code.pc.forEach((_, at) => { if (this.spotsOf(at).some(([file, line]) => file === this.file && line === row)) code.add(at); });
      }
      this.lit = { lines, code };
      if (list === this.right && this.left && this.code.file[row] >= 0) {
        if (this.code.file[row] !== this.file && this.files.includes(this.code.file[row])) this.open(this.code.file[row]);
        const at = this.left.rows.indexOf(this.code.line[row]);
        if (at >= 0) this.left.choose(at, false);
      } else if (list === this.left && code.size) {
        const name = this.shown()[0] || this.columns[0];
        const first = [...code].reduce((best, at) => ((this.kernel.sass[name]?.[at] || 0) > (this.kernel.sass[name]?.[best] || 0) ? at : best));
        this.right.chosen = -1;
        this.right.show(this.place.get(first));
      }
      this.left?.again();
      this.right.again();
      this.explain(list, row);
    }

    spotsOf(at) {
      const chain = this.code.chain[at];
      return chain >= 0 ? data.chains[chain] : this.code.file[at] >= 0 ? [[this.code.file[at], this.code.line[at]]] : [];
    }

    explain(list, row) {
      const side = list === this.right ? "sass" : "lines", at = side === "sass" ? row : this.at.get(`${this.file}:${row}`);
      const where = side === "sass" ? `+0x${this.code.pc[row].toString(16)}` : `${short(data.files[this.file].name)}:${row}`;
      const parts = [make("b", { textContent: where })];
      if (at === undefined) parts.push(" no instruction with counters");
      else {
        const told = this.columns.filter((name) => this.kernel[side][name][at]).map((name) => {
          const value = this.kernel[side][name][at], total = this.kernel.total[name];
          return name === "active_threads" ? `${number(value)} of 32 threads` : `${data.columns[name][0].toLowerCase()} ${number(value)} (${percent(value / total)})`;
        });
        parts.push(" ", told.join(", "));
        const reasons = this.kernel[side].reasons[at], whole = this.kernel[side].stalled?.[at];
        const named = [];
        for (let place = 0; place < reasons.length; place += 2) {
          const [name, meaning] = data.reasons[reasons[place]];
          named.push(`${name}${meaning ? ` – ${meaning}` : ""}${whole ? ` ${percent(reasons[place + 1] / whole)}` : ""}`);
        }
        if (named.length) parts.push(make("span", { className: "sub", textContent: `stalls: ${named.join("; ")}` }));
      }
      const chains = side === "sass" ? [this.code.chain[row]] : [...new Set([...this.lit.code].map((place) => this.code.chain[place]))];
      chains.filter((chain) => chain >= 0).slice(0, 6).forEach((chain) => parts.push(this.chain(data.chains[chain])));
      this.spot.replaceChildren(...parts);
    }

    chain(spots) {
      const line = make("span", { className: "sub chain", textContent: "inlined: " });
      spots.forEach(([file, number_], place) => {
        const button = make("button", { type: "button", textContent: `${short(data.files[file].name)}:${number_}`, title: data.files[file].name });
        button.disabled = !this.files.includes(file);
        button.addEventListener("click", () => this.goLine(file, number_));
        line.append(...(place ? [" ← "] : []), button);
      });
      return line;
    }
  }

  // ---- when views are made, and the way to them ------------------------------------------------
  const views = new Map();
  async function view(section) {
    if (!(await ready) || !data.kernels[section.dataset.source]) return null;
    if (!views.has(section)) views.set(section, new View(section));
    return views.get(section);
  }
  const sight = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    sight.unobserve(entry.target);
    view(entry.target);
  }), { rootMargin: "600px" });
  document.querySelectorAll("[data-source]").forEach((section) => sight.observe(section));

  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a.go");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const section = document.getElementById(`k${link.dataset.go}-source`), shown = await view(section);
    if (shown) {
      const file = data.files.findIndex((item) => item.name === link.dataset.file), pc = link.dataset.pc === "" ? null : Number(link.dataset.pc);
      const there = shown.left && file >= 0 && shown.files.includes(file) && shown.goLine(file, Number(link.dataset.line));
      if (!there && pc !== null) shown.goCode(pc, link.dataset.sass);
      (shown.left || shown.right).body.focus({ preventScroll: true });
    }
    section.scrollIntoView({ block: "start" });
  });
})();

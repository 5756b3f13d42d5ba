"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const data = JSON.parse(document.getElementById("kprof-data").textContent);

  addEventListener("kprof-theme", () => draw());

  // Custom properties hold light-dark(): only a real element tells which of the two it is.
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name, alpha = 1) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g);
    return `rgba(${parts.slice(0, 3).join(",")},${alpha})`;
  };

  // ---- choosing a kernel --------------------------------------------------------------------
  let chosen = null;
  function reveal(scroll) {
    const match = /^#k(\d+)$/.exec(location.hash);
    const target = match && document.getElementById(location.hash.slice(1));
    all(".chosen").forEach((element) => element.classList.remove("chosen"));
    chosen = null;
    if (target) {
      if (target.matches(".rest") || target.closest(".rest")) showAll();
      for (let up = target; up; up = up.parentElement?.closest("details")) if (up.matches("details")) up.open = true;
      const kernel = target.closest(".kernel");
      (kernel || target).classList.add("chosen");
      chosen = kernel ? Number(kernel.dataset.kernel) : Number(match[1]);
      if (scroll) {
        (kernel || target).scrollIntoView({ block: "start" });
        if (kernel) target.focus({ preventScroll: true });
      }
    }
    mark();
  }
  addEventListener("hashchange", () => reveal(true));
  function choose(index) {
    if (location.hash === `#k${index}`) reveal(true);
    else location.hash = `k${index}`;
  }

  all("[data-fold]").forEach((button) => button.addEventListener("click", () => {
    all(".kernel").forEach((kernel) => { kernel.open = button.dataset.fold === "open"; });
  }));
  // Paper cannot unfold: print what the reader has open, and every kernel's own section.
  addEventListener("beforeprint", () => all(".kernel").forEach((kernel) => { kernel.open = true; }));

  // ---- the tables of kernels ----------------------------------------------------------------
  const textual = new Set(["name", "bound", "why"]);
  function listing(table) {
    const rows = all("tbody tr[data-rank]", table);
    const more = document.querySelector(`[data-more="${table.id}"]`);
    function showAll() {
      table.classList.add("all");
      if (more) more.parentElement.hidden = true;
    }
    more?.addEventListener("click", showAll);
    function sortBy(heading) {
      const key = heading.dataset.sort;
      showAll();
      const rising = heading.getAttribute("aria-sort") === "descending" || (heading.getAttribute("aria-sort") === null && (textual.has(key) || key === "index"));
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const sign = rising ? 1 : -1;
      const value = (row) => (textual.has(key) ? row.dataset[key].toLowerCase() : row.dataset[key] === "" ? null : Number(row.dataset[key]));
      rows.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null) || a.dataset.rank - b.dataset.rank;
        return sign * (x < y ? -1 : x > y ? 1 : 0) || a.dataset.rank - b.dataset.rank;
      });
      rows[0]?.parentElement.append(...rows);
    }
    all("th[data-sort]", table).forEach((heading) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sortBy(heading));
      heading.append(button);
    });
    return { table, rows, showAll };
  }
  const listings = all("table.ranked").map(listing);
  const showAll = () => listings.forEach((list) => list.showAll());
  const filter = document.getElementById("filter");
  const nomatch = document.getElementById("nomatch");
  filter?.addEventListener("input", () => {
    const { table, rows, showAll } = listings.find((list) => list.table.id === "ranked");
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    if (wanted) showAll();
    rows.forEach((row) => {
      row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
      shown += !row.hidden;
    });
    table.hidden = shown === 0 && wanted !== "";
    nomatch.hidden = !table.hidden;
    nomatch.querySelector("span").textContent = filter.value.trim();
    document.getElementById("filtered").textContent = wanted ? `${shown} of ${rows.length} shown` : "";
  });

  // ---- the roofline -------------------------------------------------------------------------
  const figures = all(".roofline").map((element) => ({ element, plot: element.querySelector(".plot"), spec: data.rooflines[element.dataset.device] }));
  figures.forEach((figure) => {
    figure.level = figure.spec.level;
    all("input[type=radio]", figure.element).forEach((input) => input.addEventListener("change", () => {
      figure.level = input.value;
      all("[data-level]", figure.element).forEach((note) => { note.hidden = note.dataset.level !== figure.level; });
      drawOne(figure);
    }));
  });

  const isNarrow = (plot) => plot.clientWidth < 560;

  function traces({ spec, level, plot }) {
    return spec.data.map((trace) => {
      const { meta } = trace;
      const x = meta.x ? meta.x[level] : trace.x;
      if (meta.kind === "kernels") {
        return { ...trace, x, text: isNarrow(plot) ? meta.narrow : trace.text, marker: { ...trace.marker, color: colour(`b-${meta.bound}`), line: rings(trace) } };
      }
      const main = meta.kind === "slope" ? meta.level === level : meta.used;
      return { ...trace, x, line: { color: colour("ink", main ? 0.8 : 0.35), width: main ? 1.8 : 1.2, dash: main ? "solid" : "dot" } };
    });
  }
  function rings(trace) {
    return {
      color: trace.customdata.map((index) => colour(index === chosen ? "ink" : "panel")),
      width: trace.customdata.map((index) => (index === chosen ? 3 : 1.2)),
    };
  }

  function markers(spec, level) {
    return spec.data.filter((trace) => trace.meta.kind === "kernels").flatMap((trace) => trace.meta.x[level]
      .map((x, place) => ({ x: Math.log10(x), y: Math.log10(trace.y[place]), size: trace.marker.size[place] })))
      .filter(({ x }) => Number.isFinite(x));
  }

  // Labels stand where they do not cover each other: roofs in use first, then what still fits.
  function labels({ spec, level, plot }) {
    const [x0, x1] = spec.layout.xaxis.range, [y0, y1] = spec.layout.yaxis.range;
    const { l, r, t, b } = spec.layout.margin;
    const perX = (plot.clientWidth - l - r) / (x1 - x0), perY = (plot.clientHeight - t - b - 26) / (y1 - y0);
    const font = (main) => ({ size: 11, color: colour(main ? "ink" : "muted"), shadow: `0 0 3px ${colour("panel")}, 0 0 3px ${colour("panel")}` });
    const discs = markers(spec, level).map(({ x, y, size }) => ({ x: x * perX, y: y * perY, r: size / 2 }));
    // How many markers a label of this length would touch, its middle at (x, y), turned by an angle.
    const touched = (x, y, text, angle) => discs.filter((disc) => {
      const dx = disc.x - x * perX, dy = disc.y - y * perY;
      const along = dx * Math.cos(angle) + dy * Math.sin(angle), across = dy * Math.cos(angle) - dx * Math.sin(angle) - 9;
      return Math.abs(along) < text.length * 3 + disc.r && Math.abs(across) < 8 + disc.r;
    }).length;
    const freest = (places, text, angle) => places.map((place) => [touched(place.x, place.y, text, angle), place])
      .reduce((best, other) => (other[0] < best[0] ? other : best))[1];
    const narrow = isNarrow(plot);
    const tilt = Math.atan2(perY, perX);
    const taken = [];
    const flats = spec.data.filter((trace) => trace.meta.kind === "flat")
      .sort((a, c) => c.meta.used - a.meta.used || c.y[0] - a.y[0])
      .filter((trace) => {
        if (narrow && !trace.meta.used) return false;
        const y = Math.log10(trace.y[0]);
        const free = taken.every((other) => Math.abs(other - y) * perY >= (narrow ? 24 : 14));
        if (free) taken.push(y);
        return free;
      })
      .map((trace) => {
        const y = Math.log10(trace.y[0]), text = trace.meta.label, half = (text.length * 3) / perX;
        const places = [0, 0.12, 0.24, 0.36].map((shift) => ({ x: x1 - half - shift * (x1 - x0), y }));
        const { x } = freest(places, text, 0);
        return { x: x + half, y, text, xanchor: "right", yanchor: "bottom", showarrow: false, font: font(trace.meta.used) };
      });
    const passed = [];
    const slopes = spec.data.filter((trace) => trace.meta.kind === "slope")
      .sort((a, c) => (c.meta.level === level) - (a.meta.level === level))
      .filter((trace) => {
        if (narrow && trace.meta.level !== level) return false;
        const height = Math.log10(trace.y[0] / trace.x[0]);
        const free = passed.every((other) => Math.abs(other - height) * perY * Math.cos(tilt) >= 15);
        if (free) passed.push(height);
        return free;
      })
      .map((trace) => {
        const start = Math.max(x0, Math.log10(trace.x[0]) + y0 - Math.log10(trace.y[0]));
        const places = (narrow ? [0.4, 0.3, 0.5] : [0.45, 0.3, 0.6, 0.2, 0.75]).map((part) => start + part * (Math.log10(trace.x[1]) - start))
          .map((x) => ({ x, y: Math.log10(trace.y[0]) + x - Math.log10(trace.x[0]) }));
        const { x, y } = freest(places, trace.meta.label, tilt);
        return { x, y, text: trace.meta.label, textangle: (-tilt * 180) / Math.PI, xanchor: "center", yanchor: "middle", xshift: -9 * Math.sin(tilt), yshift: 9 * Math.cos(tilt), showarrow: false, font: font(trace.meta.level === level) };
      });
    return [...flats, ...slopes];
  }

  function layout(figure) {
    const { spec, level } = figure;
    const axis = { gridcolor: colour("line"), linecolor: colour("line"), tickfont: { color: colour("muted") } };
    const title = (text) => ({ text, font: { size: 13, color: colour("muted") } });
    const name = { dram: "DRAM", l2: "L2", l1: "L1" }[level];
    return {
      ...spec.layout,
      xaxis: { ...spec.layout.xaxis, ...axis, title: title(`Arithmetic intensity at ${name} (FLOP/byte)`) },
      yaxis: { ...spec.layout.yaxis, ...axis, title: title(spec.layout.yaxis.title.text) },
      annotations: labels(figure),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink") },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("muted", 0.7), activecolor: colour("ink") },
      hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("line"), font: { family: getComputedStyle(document.body).fontFamily, size: isNarrow(figure.plot) ? 11 : 12.5, color: colour("ink") }, align: "left" },
      uirevision: "kept",
    };
  }

  function drawOne(figure) {
    if (!window.Plotly) return;
    figure.element.classList.add("drawn");
    const first = !figure.plot.data;
    Plotly.react(figure.plot, traces(figure), layout(figure), {
      displaylogo: false, responsive: true, scrollZoom: false,
      modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
    });
    if (first) {
      figure.plot.on("plotly_click", (event) => {
        const index = event.points.map((point) => point.customdata).find((value) => value !== undefined);
        if (index !== undefined) choose(index);
      });
      let width = figure.plot.clientWidth;
      new ResizeObserver(() => {
        if (figure.plot.clientWidth === width || !figure.plot.clientWidth) return;
        width = figure.plot.clientWidth;
        drawOne(figure);
      }).observe(figure.plot);
    }
  }
  const draw = () => figures.forEach(drawOne);
  const mark = () => draw();

  // plotly.js is packed to a third of its size; where it cannot be unpacked the drawing stays.
  async function unpack() {
    const packed = document.getElementById("plotly-packed");
    if (!packed || typeof DecompressionStream === "undefined") return;
    const text = atob(packed.textContent.trim()), bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at); // a callback each is slow
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    draw();
  }

  reveal(location.hash !== "");
  unpack();
})();

// A map of words: pan, zoom, hover, click, lasso. Draws points (points.js) and, above them, labels and marks.
import { groupColor, letterColor } from "./colors.js";
import { asSvg, drawDensity, regionsAt, shadesOf } from "./layers.js";
import { Points } from "./points.js";
import { Boxes, inside } from "./placing.js";

const MOST_LABELS = 160;
const MOST_TRIED = 2500;
const REACH = 14;

export class WordMap {
  /** `onPick(word)` is called when a point is clicked, `onLasso(words)` when words are selected by lasso,
   * `onView()` when the view has come to rest. */
  constructor(container, { onPick, onLasso, onView } = {}) {
    this.container = container;
    this.onPick = onPick ?? (() => {});
    this.onLasso = onLasso ?? (() => {});
    this.onView = onView ?? (() => {});
    this.shading = "cluster";
    this.drawn = [];
    this.data = null;
    this.wanted = [];
    this.marked = [];
    this.circled = null;
    this.view = { x: 0, y: 0, scale: 1 };
    this.pointers = new Map();
    container.classList.add("word-map");
    this.low = container.appendChild(document.createElement("canvas"));
    this.high = container.appendChild(document.createElement("canvas"));
    this.high.tabIndex = 0;
    this.high.setAttribute("role", "application");
    this.high.setAttribute("aria-label", "Map of words. Arrow keys pan, plus and minus zoom, 0 shows the whole map.");
    this.tip = container.appendChild(document.createElement("div"));
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.tools = container.appendChild(document.createElement("div"));
    this.tools.className = "tools";
    this.lassoButton = this.addTool("lasso", "Select words with a lasso", () => this.setLasso(!this.lasso));
    this.lassoButton.setAttribute("aria-pressed", "false");
    this.addTool("+", "Zoom in", () => this.zoom(1.5));
    this.addTool("−", "Zoom out", () => this.zoom(1 / 1.5));
    this.addTool("zoom", "Zoom to the marked words", () => this.showMarked());
    this.addTool("all", "Show all of the map", () => this.showAll());
    this.isolateButton = this.addTool("isolate", "Isolate the selected words", () => this.isolate(!this.isolated));
    this.densityButton = this.addTool("density", "Density of words", () => {
      this.density = !this.density;
      this.densityButton.setAttribute("aria-pressed", String(this.density));
      this.redraw();
    });
    for (const button of [this.isolateButton, this.densityButton]) button.setAttribute("aria-pressed", "false");
    this.isolateButton.disabled = true;
    this.points = new Points(this.low);
    this.points.onRestored = () => this.redraw();
    // The processor draws the names: outlines of text are slow on a graphics card, and slowest where it is emulated.
    this.ink = this.high.getContext("2d", { willReadFrequently: true });
    this.listen();
    new ResizeObserver(() => this.resize()).observe(container);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.resize();
  }

  addTool(text, title, action) {
    const button = this.tools.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = text;
    button.title = title;
    button.setAttribute("aria-label", title);
    button.addEventListener("click", action);
    return button;
  }

  /** Sets the result of /api/map. */
  setData(data) {
    this.data = { ...data, x: Float32Array.from(data.x), y: Float32Array.from(data.y) };
    this.places = new Map(data.words.map((word, i) => [word, i]));
    this.circled = null;
    this.widths = new Map();
    this.isolated = false;
    this.shade(this.shading);
    this.showAll();
    this.onSelected();
    this.mark(this.wanted);
  }

  /** Empties the map. */
  clear() {
    this.data = null;
    this.places = null;
    this.circled = null;
    this.points.set(new Float32Array(), new Float32Array(), new Uint8Array());
    this.redraw();
  }

  /** Colors the points by `cluster`, `frequency` or `certainty`. */
  shade(mode) {
    this.shading = mode;
    if (!this.data) return;
    this.shades = shadesOf(this.data, mode);
    const kept = this.isolated ? [...this.circled] : null;
    const some = (values) => (kept ? Float32Array.from(kept, (i) => values[i]) : values);
    const shades = kept ? Uint8Array.from(kept.flatMap((i) => [...this.shades.subarray(3 * i, 3 * i + 3)])) : this.shades;
    this.points.set(some(this.data.x), some(this.data.y), shades);
    this.redraw();
  }

  /** Shows only the selected words, or all again. */
  isolate(on) {
    this.isolated = Boolean(on && this.circled);
    this.isolateButton.setAttribute("aria-pressed", String(this.isolated));
    this.shade(this.shading);
  }

  /** Selects words by name; returns how many are not on the map. */
  select(words) {
    const found = words.map((word) => this.places?.get(word)).filter((i) => i !== undefined);
    this.circled = found.length ? new Set(found) : null;
    this.onSelected();
    return words.length - found.length;
  }

  onSelected() {
    this.isolateButton.disabled = !this.circled;
    if (!this.circled || this.isolated) this.isolate(false);
    this.redraw();
  }

  /** The center and zoom, relative to the whole map, as text for the address; and back. */
  getView() {
    return this.data ? [this.view.x, this.view.y, this.view.scale / this.whole].map((value) => Number(value.toPrecision(4))).join(",") : "";
  }

  setView(text) {
    const [x, y, zoom] = String(text).split(",").map(Number);
    if (!this.data || ![x, y, zoom].every(Number.isFinite) || zoom <= 0) return;
    this.view = { x, y, scale: this.whole * Math.min(4000, Math.max(0.25, zoom)) };
    this.redraw();
  }

  /** The map as it is drawn, as a PNG blob or as SVG text. */
  async toPng() {
    const whole = new OffscreenCanvas(this.low.width, this.low.height);
    const ink = whole.getContext("2d");
    ink.fillStyle = this.colors.ground;
    ink.fillRect(0, 0, whole.width, whole.height);
    // WebGL's picture lasts only until the end of this turn.
    this.draw();
    ink.drawImage(this.low, 0, 0);
    ink.drawImage(this.high, 0, 0);
    return whole.convertToBlob({ type: "image/png" });
  }

  toSvg(title) {
    this.draw();
    return asSvg(this, title);
  }

  /** Marks words with rings and bold labels; the first is the current word. */
  mark(words, center = false) {
    this.wanted = words;
    this.marked = words.map((word) => this.places?.get(word)).filter((i) => i !== undefined);
    if (center && this.marked.length) this.goTo(this.marked[0]);
    this.redraw();
  }

  goTo(i) {
    const [px, py] = this.toScreen(i);
    const { width, height } = this.size();
    if (px < 0 || py < 0 || px > width || py > height) {
      this.view = { ...this.view, x: this.data.x[i], y: this.data.y[i] };
      return;
    }
    // A word near the edge needs room for its name, not another view.
    const inward = (place, size, room) => Math.max(0, room - place) - Math.max(0, place - size + room);
    this.view.x -= inward(px, width, 60) / this.view.scale;
    this.view.y += inward(py, height, 40) / this.view.scale;
  }

  size() {
    return { width: this.container.clientWidth, height: this.container.clientHeight };
  }

  resize() {
    const { width, height } = this.size();
    if (!width || !height) return;
    this.ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const fresh = !this.fitted;
    for (const canvas of [this.low, this.high]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    if (fresh && this.data) this.showAll();
    this.redraw();
  }

  showAll() {
    if (!this.data || !this.size().width) return;
    this.fit(ends(this.data.x), ends(this.data.y), 0.92);
    this.whole = this.view.scale;
    this.fitted = true;
    this.redraw();
  }

  /** Zooms to the marked words. */
  showMarked() {
    if (!this.marked.length) return;
    this.fit(ends(this.marked.map((i) => this.data.x[i])), ends(this.marked.map((i) => this.data.y[i])), 0.75);
    this.view.scale = Math.min(this.view.scale, this.whole * 400);
    this.redraw();
  }

  fit([left, right], [low, high], share) {
    const { width, height } = this.size();
    const least = 1e-9 + Math.abs(left) * 1e-6;
    const scale = share * Math.min(width / Math.max(right - left, least), height / Math.max(high - low, least));
    this.view = { x: (left + right) / 2, y: (low + high) / 2, scale };
  }

  zoom(factor, px, py) {
    if (!this.data) return;
    const { width, height } = this.size();
    const x = px ?? width / 2;
    const y = py ?? height / 2;
    const scale = Math.min(Math.max(this.view.scale * factor, this.whole / 4), this.whole * 4000);
    // The point under the pointer stays where it is.
    const shift = 1 / this.view.scale - 1 / scale;
    this.view = { x: this.view.x + (x - width / 2) * shift, y: this.view.y - (y - height / 2) * shift, scale };
    this.redraw();
  }

  pan(dx, dy) {
    this.view = { ...this.view, x: this.view.x - dx / this.view.scale, y: this.view.y + dy / this.view.scale };
    this.redraw();
  }

  setLasso(on) {
    this.lasso = on;
    this.lassoButton.setAttribute("aria-pressed", String(on));
    this.high.classList.toggle("lasso", on);
  }

  toScreen(i) {
    const { width, height } = this.size();
    return [
      (this.data.x[i] - this.view.x) * this.view.scale + width / 2,
      height / 2 - (this.data.y[i] - this.view.y) * this.view.scale,
    ];
  }

  /** The nearest point to a screen position, within reach, or -1. */
  nearest(px, py) {
    if (!this.data) return -1;
    const { width, height } = this.size();
    const x = (px - width / 2) / this.view.scale + this.view.x;
    const y = (height / 2 - py) / this.view.scale + this.view.y;
    let best = -1;
    let least = (REACH / this.view.scale) ** 2;
    for (let i = 0; i < this.data.x.length; i++) {
      if (this.isolated && !this.circled.has(i)) continue;
      const distance = (this.data.x[i] - x) ** 2 + (this.data.y[i] - y) ** 2;
      if (distance < least) [least, best] = [distance, i];
    }
    return best;
  }

  listen() {
    const { high } = this;
    const at = (event) => {
      const box = high.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    high.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event));
    }, { passive: false });
    high.addEventListener("pointerdown", (event) => {
      high.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
      this.began = at(event);
      this.moved = false;
      if ((this.lasso || event.shiftKey) && this.pointers.size === 1) this.polygon = [at(event)];
      else this.polygon = null;
    });
    high.addEventListener("pointermove", (event) => this.moveTo(event, at(event)));
    const end = (event) => this.letGo(event, at(event));
    high.addEventListener("pointerup", end);
    high.addEventListener("pointercancel", end);
    high.addEventListener("pointerleave", () => this.showTip(-1));
    high.addEventListener("dblclick", (event) => this.zoom(2, ...at(event)));
    high.addEventListener("keydown", (event) => this.press(event));
  }

  moveTo(event, place) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.showTip(this.nearest(...place));
      return;
    }
    if (Math.hypot(place[0] - this.began[0], place[1] - this.began[1]) > 4) this.moved = true;
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const spread = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
      this.zoom(spread(place) / spread(before), (place[0] + other[0]) / 2, (place[1] + other[1]) / 2);
    } else if (this.polygon) {
      this.polygon.push(place);
      this.redraw();
    } else if (this.moved) {
      this.pan(place[0] - before[0], place[1] - before[1]);
    }
    this.pointers.set(event.pointerId, place);
  }

  letGo(event, place) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.polygon && this.polygon.length > 2) {
      this.circle(this.polygon);
    } else if (!this.moved && event.type === "pointerup") {
      const i = this.nearest(...place);
      if (i >= 0) this.onPick(this.data.words[i]);
    }
    this.polygon = null;
    this.redraw();
  }

  circle(polygon) {
    if (!this.data) return;
    const found = [];
    for (let i = 0; i < this.data.x.length; i++) if (inside(polygon, ...this.toScreen(i))) found.push(i);
    this.circled = found.length ? new Set(found) : null;
    this.setLasso(false);
    this.onSelected();
    this.onLasso(found.map((i) => this.data.words[i]));
  }

  press(event) {
    const step = 60;
    const actions = {
      ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0),
      ArrowUp: () => this.pan(0, step), ArrowDown: () => this.pan(0, -step),
      "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), 0: () => this.showAll(),
      Enter: () => {
        const { width, height } = this.size();
        const i = this.nearest(width / 2, height / 2);
        if (i >= 0) this.onPick(this.data.words[i]);
      },
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  showTip(i) {
    this.tip.hidden = i < 0;
    this.high.classList.toggle("over", i >= 0);
    if (i < 0) return;
    const count = this.data.counts[i];
    this.tip.textContent = count ? `${this.data.words[i]} · ${count.toLocaleString("en")} times` : this.data.words[i];
    const [px, py] = this.toScreen(i);
    const { width } = this.size();
    this.tip.style.left = `${Math.min(px + 12, Math.max(0, width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(2, py - 34)}px`;
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.onView(), 400);
  }

  draw() {
    if (!this.ratio) return;
    const closeness = this.data ? Math.log2(Math.max(1, this.view.scale / this.whole)) : 0;
    const few = this.data ? Math.max(0, 4 - Math.log10(this.data.x.length + 1)) : 0;
    const faded = this.circled || this.marked.length;
    this.points.draw(this.view, Math.min(9, 3.2 + 0.6 * closeness + 1.5 * few), faded ? 0.5 : 0.8, this.ratio);
    const { ink, ratio } = this;
    const { width, height } = this.size();
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, height);
    if (!this.data) return;
    const style = getComputedStyle(this.container);
    const parts = (style.color.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number);
    this.colors = { text: style.color, ground: style.backgroundColor, parts };
    this.drawn = [];
    if (this.density) drawDensity(ink, this.data, this.view, width, height);
    const boxes = new Boxes(width, height);
    this.drawLabels(boxes, width, height, closeness);
    if (this.polygon) this.drawPolygon();
  }

  drawLabels(boxes, width, height, closeness) {
    const { ink } = this;
    const marked = new Set(this.marked);
    ink.textBaseline = "middle";
    ink.lineJoin = "round";
    this.marked.forEach((i, rank) => {
      const [px, py] = this.toScreen(i);
      this.drawEllipse(i, px, py);
      ink.beginPath();
      ink.arc(px, py, rank ? 4 : 6.5, 0, 2 * Math.PI);
      ink.fillStyle = groupColor(this.data.groups[i]);
      ink.fill();
      ink.lineWidth = rank ? 1 : 2;
      ink.strokeStyle = this.colors.text;
      ink.stroke();
    });
    this.marked.forEach((i, rank) => this.drawLabel(boxes, i, rank ? "600 13px" : "700 16px", this.colors.text, rank ? 6 : 9));
    if (!this.isolated) this.drawRegions(boxes, closeness);
    let placed = 0;
    let tried = 0;
    const size = `${Math.min(13, 11 + closeness / 3)}px`;
    for (let i = 0; i < this.data.x.length && placed < MOST_LABELS && tried < MOST_TRIED; i++) {
      if (marked.has(i) || (this.circled && !this.circled.has(i))) continue;
      const [px, py] = this.toScreen(i);
      if (px < 0 || py < 0 || px > width || py > height) continue;
      tried++;
      if (this.drawLabel(boxes, i, size, letterColor(this.data.groups[i], this.colors.parts))) {
        if (placed < 60) this.drawEllipse(i, px, py);
        placed++;
      }
    }
  }

  /** Writes what the words of a region are about, over its middle. */
  drawRegions(boxes, closeness) {
    const { ink } = this;
    const { width, height } = this.size();
    ink.font = "600 15px system-ui, sans-serif";
    ink.textBaseline = "middle";
    ink.lineJoin = "round";
    for (const [x, y, name] of regionsAt(this.data, closeness)) {
      const long = ink.measureText(name).width;
      const left = (x - this.view.x) * this.view.scale + width / 2 - long / 2;
      const middle = height / 2 - (y - this.view.y) * this.view.scale;
      if (boxes.put(left - 4, middle - 12, long + 8, 24)) this.write(name, left, middle, "600 15px", this.colors.text, 5);
    }
  }

  /** Writes text with a halo of the background's color, and remembers it for pictures. */
  write(word, left, middle, font, color, halo = 3) {
    const { ink } = this;
    ink.lineWidth = halo;
    ink.strokeStyle = this.colors.ground;
    ink.fillStyle = color;
    ink.strokeText(word, left, middle);
    ink.fillText(word, left, middle);
    this.drawn.push({ word, left, middle, font, color });
  }

  drawLabel(boxes, i, font, color, gap = 6) {
    const { ink } = this;
    const [px, py] = this.toScreen(i);
    const word = this.data.words[i].slice(0, 40);
    ink.font = `${font} system-ui, sans-serif`;
    const key = `${font} ${i}`;
    if (!this.widths.has(key)) this.widths.set(key, ink.measureText(word).width);
    const height = Number.parseFloat(font.split(" ").at(-1)) + 3;
    const place = boxes.beside(px, py, this.widths.get(key) + 2, height, gap);
    if (!place) return false;
    this.write(word, place[0] + 1, place[1] + height / 2, font, color);
    return true;
  }

  /** The credible region of a word of a Bayesian model. */
  drawEllipse(i, px, py) {
    const shape = this.data.ellipses?.[i];
    if (!shape) return;
    const { ink } = this;
    ink.beginPath();
    ink.ellipse(px, py, shape[0] * this.view.scale, shape[1] * this.view.scale, (-shape[2] * Math.PI) / 180, 0, 2 * Math.PI);
    ink.globalAlpha = 0.14;
    ink.fillStyle = groupColor(this.data.groups[i]);
    ink.fill();
    ink.globalAlpha = 0.6;
    ink.lineWidth = 1;
    ink.strokeStyle = groupColor(this.data.groups[i]);
    ink.stroke();
    ink.globalAlpha = 1;
  }

  drawPolygon() {
    const { ink } = this;
    ink.beginPath();
    for (const [x, y] of this.polygon) ink.lineTo(x, y);
    ink.closePath();
    ink.setLineDash([5, 4]);
    ink.lineWidth = 1.5;
    ink.strokeStyle = this.colors.text;
    ink.stroke();
    ink.setLineDash([]);
  }
}

/** The range of the middle 99.8 % of values, so that an outlier does not shrink the map. */
function ends(values) {
  const sorted = Float32Array.from(values).sort();
  const skip = Math.floor(sorted.length * 0.001);
  return [sorted[skip], sorted[sorted.length - 1 - skip]];
}

// What lies on the points of a map: their shades, the density of words, and the names of regions; and the map as SVG.
import { groupRgb, ramp } from "./colors.js";

const CELLS = 96;

/** The colors of points as RGB triples: by cluster, by frequency, or by certainty. */
export function shadesOf(data, mode) {
  const shades = new Uint8Array(3 * data.x.length);
  const values = mode === "frequency" ? data.counts.map((count) => Math.log(count + 1)) : mode === "certainty" ? data.uncertainty : null;
  if (!values?.length) {
    for (let i = 0; i < data.x.length; i++) shades.set(groupRgb(data.groups[i]), 3 * i);
    return shades;
  }
  const sorted = Float64Array.from(values).sort();
  const low = sorted[Math.floor(0.02 * sorted.length)];
  const high = sorted[Math.floor(0.98 * (sorted.length - 1))];
  for (let i = 0; i < data.x.length; i++) shades.set(ramp((values[i] - low) / (high - low || 1)), 3 * i);
  return shades;
}

/** Draws where words are dense, as steps of a translucent color. */
export function drawDensity(ink, data, view, width, height) {
  const rows = Math.max(8, Math.round((CELLS * height) / width));
  let grid = new Float32Array(CELLS * rows);
  for (let i = 0; i < data.x.length; i++) {
    const column = Math.floor((((data.x[i] - view.x) * view.scale + width / 2) / width) * CELLS);
    const row = Math.floor(((height / 2 - (data.y[i] - view.y) * view.scale) / height) * rows);
    if (column >= 0 && row >= 0 && column < CELLS && row < rows) grid[row * CELLS + column] += 1;
  }
  for (const [step, size, other] of [[1, CELLS, rows], [CELLS, rows, CELLS], [1, CELLS, rows], [CELLS, rows, CELLS]]) grid = blurred(grid, step, size, other);
  const most = grid.reduce((a, b) => Math.max(a, b), 1e-9);
  const image = new ImageData(CELLS, rows);
  // Steps rather than a gradient, so that the edges are contours.
  for (let i = 0; i < grid.length; i++) image.data.set([90, 150, 160, Math.floor(Math.sqrt(grid[i] / most) * 6) * 20], 4 * i);
  const small = new OffscreenCanvas(CELLS, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  ink.imageSmoothingEnabled = true;
  ink.drawImage(small, 0, 0, width, height);
}

function blurred(grid, step, size, lines) {
  const result = new Float32Array(grid.length);
  const next = step === 1 ? size : 1;
  for (let line = 0; line < lines; line++) {
    for (let at = 0; at < size; at++) {
      let sum = 0;
      for (let shift = -2; shift <= 2; shift++) if (at + shift >= 0 && at + shift < size) sum += grid[line * next + (at + shift) * step];
      result[line * next + at * step] = sum / 5;
    }
  }
  return result;
}

/** The names of regions for this zoom: coarse from afar, fine from close by, none where words can be read. */
export function regionsAt(data, closeness) {
  const level = closeness < 0.8 ? 0 : closeness < 2.2 ? 1 : closeness < 4 ? 2 : 3;
  return data.regions?.[level] ?? [];
}

/** The map as SVG: points in view, and the labels that were drawn. */
export function asSvg(map, title) {
  const { width, height } = map.size();
  const escaped = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`).replace(/[\u0000-\u001f]/g, "·");
  const { colors } = map;
  const dots = [];
  for (let i = 0; i < map.data.x.length; i++) {
    const [px, py] = map.toScreen(i);
    if (px < 0 || py < 0 || px > width || py > height) continue;
    const shade = [...map.shades.subarray(3 * i, 3 * i + 3)].join(",");
    dots.push(`<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="2" fill="rgb(${shade})" fill-opacity=".6"/>`);
  }
  const words = map.drawn.map(({ word, left, middle, font, color }) => {
    const [weight, size] = font.includes(" ") ? font.split(" ") : ["400", font];
    const look = `font-size="${Number.parseFloat(size)}" font-weight="${weight}" fill="${color}" stroke="${colors.ground}" stroke-width="3" paint-order="stroke"`;
    return `<text x="${left.toFixed(1)}" y="${middle.toFixed(1)}" dominant-baseline="middle" ${look}>${escaped(word)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">
<title>${escaped(title)}</title><rect width="100%" height="100%" fill="${colors.ground}"/>
${dots.join("\n")}
${words.join("\n")}
</svg>
`;
}

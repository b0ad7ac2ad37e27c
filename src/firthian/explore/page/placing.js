// Labels that do not overlap: important ones first, each at the first free position next to its point.

const CELL = 64;

/** Occupied boxes, in a grid of cells so that only nearby ones are compared. */
export class Boxes {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.cells = new Map();
  }

  /** Adds a box if it is inside and overlaps no other. */
  put(left, top, width, height) {
    const right = left + width;
    const bottom = top + height;
    if (left < 0 || top < 0 || right > this.width || bottom > this.height) return false;
    const keys = [];
    for (let i = Math.floor(left / CELL); i <= right / CELL; i++) {
      for (let j = Math.floor(top / CELL); j <= bottom / CELL; j++) keys.push(i * 10000 + j);
    }
    for (const key of keys) {
      for (const [a, b, c, d] of this.cells.get(key) ?? []) {
        if (left < c && a < right && top < d && b < bottom) return false;
      }
    }
    for (const key of keys) {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push([left, top, right, bottom]);
    }
    return true;
  }

  /** Finds room for a label next to a point: right, left, above, below; returns its left and top, or null. */
  beside(x, y, width, height, gap = 5) {
    const places = [
      [x + gap, y - height / 2], [x - gap - width, y - height / 2],
      [x - width / 2, y - gap - height], [x - width / 2, y + gap],
    ];
    return places.find(([left, top]) => this.put(left, top, width, height)) ?? null;
  }
}

/** Whether a point is inside a polygon of [x, y] corners: a ray from it crosses the edge an odd number of times. */
export function inside(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

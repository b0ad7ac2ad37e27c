// Colors of word clusters, the same as in the pictures (runtime/figures.py).
export const GROUP_COLORS = [
  "#4477cc", "#dd7711", "#229966", "#cc3355", "#8855cc", "#997711", "#22a5b5", "#c256a5",
  "#6b8e23", "#a0522d", "#5b6f8a", "#e0a030",
];

export function groupColor(group) {
  return GROUP_COLORS[group % GROUP_COLORS.length];
}

/** The color of a group as three numbers, 0 to 255. */
export function groupRgb(group) {
  const number = Number.parseInt(groupColor(group).slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** The color of a group for labels: mixed with the text color (r, g, b), so that it is readable on the background. */
export function letterColor(group, text, share = 0.35) {
  const mixed = groupRgb(group).map((part, i) => Math.round(part + share * (text[i] - part)));
  return `rgb(${mixed.join(" ")})`;
}

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

const STOPS = [[72, 61, 139], [49, 104, 142], [33, 145, 140], [83, 181, 88], [214, 178, 29]];

/** A color for a share between 0 and 1, as three numbers: from violet through green to yellow. */
export function ramp(share) {
  const at = Math.min(0.9999, Math.max(0, share)) * (STOPS.length - 1);
  const low = Math.floor(at);
  return STOPS[low].map((part, i) => Math.round(part + (at - low) * (STOPS[low + 1][i] - part)));
}

"""Weighted least squares on observed pairs: sorting into cells, Adagrad steps, the objective.

A step takes pair p with target t and weight f: r = u·c + a + b - t, and the gradient without its factor 2 is f·r·c
for u, f·r·u for c, f·r for a and b.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.selection import counter_random

#: Rows, columns, targets and weights of the pairs of a cell.
Cell = tuple[Array, Array, Array, Array]

#: ``(indptr, indices, values)`` of a matrix in compressed sparse rows.
Sparse = tuple[Array, Array, Array]

#: Rows, columns and values of pairs.
Triples = tuple[Array, Array, Array]

#: Vectors, their sums of squares, and biases, each with its sum of squares.
Parameters = tuple[Array, Array, Array]


@njit(cache=True, nogil=True)
def count_cells(counts: Sparse, part: int, parts: int, sizes: Array) -> None:
    """Count the positive values in the rows of one part, by part of the column."""
    indptr, indices, values = counts
    for row in range(part, indptr.size - 1, parts):
        for p in range(indptr[row], indptr[row + 1]):
            if values[p] > 0:
                sizes[indices[p] % parts] += 1


@njit(cache=True, nogil=True)
def fill_cells(counts: Sparse, part: int, parts: int, starts: Array, seed: np.uint64, pairs: Triples) -> None:
    """Write the pairs of one part's rows to the cells that start at ``starts``, each cell in its own random order.

    A pair swaps into a random position among those before it in its cell (the inside-out Fisher-Yates shuffle). The
    random number is keyed by (seed, cell, position).
    """
    (indptr, indices, values), (rows, columns, sums) = counts, pairs
    used = np.zeros(parts, np.int64)
    for row in range(part, indptr.size - 1, parts):
        for p in range(indptr[row], indptr[row + 1]):
            if values[p] <= 0:
                continue
            cell = indices[p] % parts
            end = used[cell]
            bits = counter_random(seed, np.uint64(part * parts + cell), np.uint64(end))
            at = starts[cell] + np.int64(bits % np.uint64(end + 1))
            last = starts[cell] + end
            rows[last], columns[last], sums[last] = rows[at], columns[at], sums[at]
            rows[at], columns[at], sums[at] = row, indices[p], values[p]
            used[cell] = end + 1


# Reassociation lets the compiler sum a dot product in SIMD lanes, always in the same order; numpy's rules for division
# by zero (which cannot occur: the squares start at 1) let it divide in lanes as well.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def adagrad_steps(cell: Cell, words: Parameters, contexts: Parameters, alpha: np.float32) -> None:
    """Take an Adagrad step on each pair in turn.

    With g the gradient of one parameter, its step is alpha·g / sqrt(s), and then s grows by (alpha·g)², as in Stanford's
    program.
    """
    rows, columns, targets, weights = cell
    word_vectors, word_squares, word_bias = words
    context_vectors, context_squares, context_bias = contexts
    width = word_vectors.shape[1]
    for p in range(rows.size):
        i, j = np.uint64(rows[p]), np.uint64(columns[p])
        u, c = word_vectors[i], context_vectors[j]
        u_squares, c_squares = word_squares[i], context_squares[j]
        residual = word_bias[i, 0] + context_bias[j, 0] - targets[p]
        inner = np.float32(0)
        for k in range(width):
            inner += u[k] * c[k]
        step = alpha * weights[p] * (inner + residual)
        for k in range(width):
            u_k, c_k = u[k], c[k]
            u_step, c_step = step * c_k, step * u_k
            u_square, c_square = u_squares[k], c_squares[k]
            u[k] = u_k - u_step / np.sqrt(u_square)
            c[k] = c_k - c_step / np.sqrt(c_square)
            u_squares[k] = u_square + u_step * u_step
            c_squares[k] = c_square + c_step * c_step
        word_bias[i, 0] -= step / np.sqrt(word_bias[i, 1])
        context_bias[j, 0] -= step / np.sqrt(context_bias[j, 1])
        word_bias[i, 1] += step * step
        context_bias[j, 1] += step * step


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def adagrad_batches(
    cell: Cell,
    words: Parameters,
    contexts: Parameters,
    word_ridge: Array,
    context_ridge: Array,
    alpha: np.float32,
    batch: int,
    parts: int,
) -> None:
    """Take one textbook Adagrad step per ``batch`` pairs: s grows by g², then the step is alpha·g/sqrt(s).

    g sums f·r·c + ridge·u over the pairs of the batch, with the parameters at its start; the ridges are those of one pair.
    """
    rows, columns, targets, weights = cell
    width = words[0].shape[1]
    word_sums = np.empty((words[0].shape[0] // parts + 1, width + 1), dtype=np.float32)
    context_sums = np.empty((contexts[0].shape[0] // parts + 1, width + 1), dtype=np.float32)
    is_new_word, is_new_context = np.ones(len(word_sums), np.bool_), np.ones(len(context_sums), np.bool_)
    for first in range(0, rows.size, batch):
        last = min(first + batch, rows.size)
        for p in range(first, last):
            i, j = np.uint64(rows[p]), np.uint64(columns[p])
            u, c = words[0][i], contexts[0][j]
            u_sum, c_sum = word_sums[i // np.uint64(parts)], context_sums[j // np.uint64(parts)]
            if is_new_word[i // np.uint64(parts)]:
                is_new_word[i // np.uint64(parts)] = False
                u_sum[:] = 0
            if is_new_context[j // np.uint64(parts)]:
                is_new_context[j // np.uint64(parts)] = False
                c_sum[:] = 0
            inner = np.float32(0)
            for k in range(width):
                inner += u[k] * c[k]
            error = weights[p] * (inner + (words[2][i, 0] + contexts[2][j, 0] - targets[p]))
            u_ridge, c_ridge = word_ridge[i], context_ridge[j]
            for k in range(width):
                u_sum[k] += error * c[k] + u_ridge * u[k]
                c_sum[k] += error * u[k] + c_ridge * c[k]
            u_sum[width] += error
            c_sum[width] += error
        for p in range(first, last):
            adagrad_row(words, rows[p], word_sums, is_new_word, alpha, parts)
            adagrad_row(contexts, columns[p], context_sums, is_new_context, alpha, parts)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def adagrad_row(parameters: Parameters, row: int, sums: Array, is_new: Array, alpha: np.float32, parts: int) -> None:
    """Step a row once along its sum of gradients; an infinite sum of squares fixes a bias."""
    place, width = row // parts, sums.shape[1] - 1
    if is_new[place]:
        return
    is_new[place] = True
    vector, squares, bias, gradient = parameters[0][row], parameters[1][row], parameters[2][row], sums[place]
    small = np.float32(1e-20)
    for k in range(width):
        squares[k] += gradient[k] * gradient[k]
        vector[k] -= alpha * gradient[k] / np.sqrt(squares[k] + small)
    bias[1] += gradient[width] * gradient[width]
    bias[0] -= alpha * gradient[width] / np.sqrt(bias[1] + small)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_errors(cell: Cell, words: Parameters, contexts: Parameters) -> float:
    """Return the sum of f·r² over the pairs of a cell."""
    rows, columns, targets, weights = cell
    (word_vectors, _, word_bias), (context_vectors, _, context_bias) = words, contexts
    width = word_vectors.shape[1]
    total = 0.0
    for p in range(rows.size):
        i, j = np.uint64(rows[p]), np.uint64(columns[p])
        u, c = word_vectors[i], context_vectors[j]
        inner = np.float32(0)
        for k in range(width):
            inner += u[k] * c[k]
        residual = np.float64(inner + (word_bias[i, 0] + context_bias[j, 0] - targets[p]))
        total += weights[p] * residual * residual
    return total

/** Returns those of the words that differ from the given one by few letters, the nearest first, at most three. */
export function nearest(given: string, words: readonly string[]): string[] {
  const limit = Math.max(1, Math.floor(given.length / 3));
  return words
    .map((word) => ({ word, distance: distance(given.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, distance }) => distance <= limit || word.toLowerCase().startsWith(given.toLowerCase()))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ word }) => word);
}

/** Returns the number of letters to insert, delete, replace or swap with their neighbour. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const changed = (last[column - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwap ? (before[column - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min((last[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1, changed, swapped));
    }
    before = last;
    last = next;
  }
  return last[to.length] ?? 0;
}

import type { ReferenceRow } from '@davit/contract';

interface Indexed {
  readonly row: ReferenceRow;
  readonly name: string;
  readonly location: string;
  readonly words: string;
}

/** Finds rows by words. */
export interface SearchIndex {
  /** Returns the best rows that have all words of the text, the best first. */
  find(text: string): readonly ReferenceRow[];
}

const mostShown = 40;

/** Kinds that people look for more often stand higher among equals. */
const weights = { group: 0.6, operation: 0.5, error: 0.4, type: 0.3, field: 0 } as const;

/** Prepares rows for many searches. A search reads all rows: some 5,000 take a few milliseconds. */
export function makeIndex(rows: readonly ReferenceRow[]): SearchIndex {
  const indexed = rows.map((row): Indexed => {
    const [, name, location, , words] = row;
    return { row, name: name.toLowerCase(), location: location.toLowerCase(), words: words.toLowerCase() };
  });
  return {
    find: (text) => {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length === 0) return [];
      return indexed
        .map((one) => ({ row: one.row, score: scoreOf(one, words) }))
        .filter(({ score }) => score > 0)
        .toSorted((one, other) => other.score - one.score)
        .slice(0, mostShown)
        .map(({ row }) => row);
    },
  };
}

/** Returns how well a row answers the words; 0 if it lacks one of them. */
function scoreOf(one: Indexed, words: readonly string[]): number {
  let score: number = weights[one.row[0]];
  for (const word of words) {
    const own = scoreOfWord(one, word);
    if (own === 0) return 0;
    score += own;
  }
  // A name that is said completely comes before longer names that contain it.
  const matched = words.reduce((sum, word) => sum + (one.name.includes(word) ? word.length : 0), 0);
  return score + matched / Math.max(one.name.length, 1) + (one.location === '' ? 0.2 : 0);
}

function scoreOfWord({ name, location, words }: Indexed, word: string): number {
  const at = name.indexOf(word);
  if (at === 0) return 4;
  if (at > 0) return /[a-z0-9]/.test(name.charAt(at - 1)) ? 2 : 3;
  if (location.includes(word)) return 1.5;
  return words.includes(word) ? 1 : 0;
}

/** Returns the part of a row's words that has the first found word, or their beginning. */
export function excerpt(words: string, text: string, width = 110): string {
  const plain = words.replaceAll('`', '').replaceAll(/\s+/g, ' ');
  const lower = plain.toLowerCase();
  const at = Math.min(
    ...text
      .toLowerCase()
      .split(/\s+/)
      .filter(Boolean)
      .map((word) => lower.indexOf(word))
      .filter((location) => location >= 0),
  );
  if (!Number.isFinite(at) || at < width * 0.7) return plain.slice(0, 2 * width);
  return `…${plain.slice(plain.lastIndexOf(' ', at - 30) + 1, at + width)}`;
}

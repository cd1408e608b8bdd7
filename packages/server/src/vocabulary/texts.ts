import type { Operation } from '@davit/contract';
import { enumerationsOf } from './enumerations.ts';
import type { Pair, Vocabulary } from './vocabulary.ts';

/** Translates texts that Davit wrote: descriptions, messages, and names of operations and shapes. */
export interface Texts {
  /** Returns a name such as `listVendoraRegions` in the vocabulary's words. */
  name(text: string): string;
  /** Returns a sentence in the vocabulary's words. Whole words are replaced, if they have only one meaning. */
  prose(text: string): string;
}

/**
 * Returns the translation of texts. A value that the contract also uses where the vocabulary leaves it as it is, such
 * as SERVICE, stays in sentences: its place there is not known.
 */
export function textsOf(vocabulary: Vocabulary, operations: readonly Operation[]): Texts {
  const { names, fields, segments } = vocabulary;
  const words = [...fields, ...unambiguous(vocabulary, operations), ...segments.filter(({ client }) => !client.includes('/'))];
  const wholeWords = replacer(words, (word) => `(?<![\\w.])${word}(?![\\w])`);
  const parts = replacer(names, (word) => word);
  return { name: parts, prose: (text) => parts(wholeWords(text)) };
}

function unambiguous({ values }: Vocabulary, operations: readonly Operation[]): Pair[] {
  const enumerations = enumerationsOf(operations);
  const pairs = [...values.values()].flat();
  return pairs.filter(({ contract }) =>
    [...(enumerations.get(contract) ?? [])].every(
      (field) => values.get(field)?.some((pair) => pair.contract === contract) === true,
    ),
  );
}

function replacer(pairs: readonly Pair[], patternOf: (word: string) => string): (text: string) => string {
  if (pairs.length === 0) return (text) => text;
  const words = new Map(pairs.map(({ client, contract }) => [contract, client]));
  // Long words come first, so that a word inside another one is not replaced alone.
  const sorted = [...words.keys()].toSorted((one, other) => other.length - one.length);
  const pattern = new RegExp(sorted.map((word) => patternOf(RegExp.escape(word))).join('|'), 'g');
  return (text) => text.replaceAll(pattern, (word) => words.get(word) ?? word);
}

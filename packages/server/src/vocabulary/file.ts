import { readFileSync } from 'node:fs';
import type { VocabularyConfiguration } from '../configuration.ts';

export type Words = Readonly<Record<string, string>>;
export type Values = Readonly<Record<string, { readonly word: string; readonly at: readonly string[] }>>;

/** The content of a vocabulary's file. Keys are the words of clients, values those of the contract. */
export interface VocabularyFile {
  readonly about?: string;
  readonly segments?: Words;
  readonly fields?: Words;
  /** `at`: the names of the fields that have the value, in the contract's words. */
  readonly values?: Values;
  readonly answers?: Values;
  readonly names?: Words;
  readonly headers?: Words;
  readonly texts?: {
    readonly built_in_prefix?: string;
    readonly chart_reference?: string;
    readonly job_output_file?: string;
  };
}

/** The name of the vocabulary that comes with Davit, in place of a file. */
export const ownVocabulary = 'public';
export const ownVocabularyFile = new URL('../../data/vocabularies/public.json', import.meta.url);

/**
 * Returns the prefix of built-in variables that the vocabulary's file names, without its underscore; null if there is
 * none. Faults of the file are left to `readVocabulary`, which reports all of them.
 */
export function prefixOf(vocabulary: VocabularyConfiguration | null): string | null {
  if (vocabulary === null) return null;
  try {
    const { texts }: VocabularyFile = JSON.parse(readFileSync(vocabulary.file ?? ownVocabularyFile, 'utf8'));
    return texts?.built_in_prefix?.replace(/_$/, '') ?? null;
  } catch {
    return null;
  }
}

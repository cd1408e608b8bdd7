/** A word of a client, and the word of the contract that it stands for. */
export interface Pair {
  readonly client: string;
  readonly contract: string;
}

/** Pairs of values of one field. */
export type ValuePairs = readonly Pair[];

/**
 * The words of the clients that use one base path. Only declared places have these words: segments of paths, names of
 * fields, and values of the fields that are named here. Texts of users are never changed.
 */
export interface Vocabulary {
  /** Path under which the operations are served, for example `/v/public`. */
  readonly basePath: string;
  /** Segments of paths, and two segments in a row. */
  readonly segments: readonly Pair[];
  readonly fields: readonly Pair[];
  /** Pairs by the field's name in the contract. */
  readonly values: ReadonlyMap<string, ValuePairs>;
  /**
   * Words of answers by the field's name in the contract: `contract` is answered as `client`, although requests keep
   * that word's usual meaning.
   */
  readonly answers: ReadonlyMap<string, ValuePairs>;
  /** Parts of the names of operations and shapes, such as `Scaleway` for `Vendora`. */
  readonly names: readonly Pair[];
  /** Names of the headers of webhooks. */
  readonly headers: readonly Pair[];
  readonly texts: VocabularyTexts;
}

/** Texts inside workloads that clients spell in their own way. null: as Davit does. */
export interface VocabularyTexts {
  /** Prefix of built-in variables, with its underscore. */
  readonly builtInPrefix: string | null;
  /** Begin of references in chart values: `davit.env` in Davit's own words. */
  readonly chartReference: string | null;
  /** Path of the file with the outputs of a job. */
  readonly jobOutputFile: string | null;
}

/** The direction of a translation: from the contract to clients, or from clients to the contract. */
export type Direction = 'answer' | 'request' | 'edit';

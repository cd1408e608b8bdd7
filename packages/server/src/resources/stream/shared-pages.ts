import type { Batch } from './hub.ts';
import type { Page, StreamReader } from './reader.ts';
import { isSubject, type Watch } from './watch.ts';

/** Longest text in UTF-16 units. A stream sends a longer one in parts, at the pace of its client. */
const longestText = 262_144;
/** Most texts of one batch that are not empty. Other streams write their own, in small parts that take less memory. */
const maxTexts = 64;
const nothing = Buffer.alloc(0);

/**
 * The newest batch of events as text, made once for all streams that watch the same and may read all of it. Streams of
 * one organization mostly do, and to choose and write the events for each of them would cost far more than the
 * deployments that cause the events.
 */
export class SharedPages {
  readonly #reader: Pick<StreamReader, 'texts' | 'environmentTexts'>;
  #batch: Batch | undefined;
  #texts = new Map<string, Promise<Buffer | null>>();
  /** Number of texts that are not empty. */
  #begun = 0;

  constructor(reader: Pick<StreamReader, 'texts' | 'environmentTexts'>) {
    this.#reader = reader;
  }

  /**
   * Returns the events of a batch for a stream; empty if none concerns it, null if the stream has to write them itself.
   * `key`: what `keyOf` returns for the watch.
   */
  text(batch: Batch, watch: Watch, key: string): Promise<Buffer | null> {
    if (this.#batch === undefined || batch.to.serial > this.#batch.to.serial) {
      this.#batch = batch;
      this.#texts = new Map();
      this.#begun = 0;
    }
    // Only the newest texts are kept. A stream that is behind shares with nobody, and its client may be slow: it writes
    // small parts.
    if (batch !== this.#batch) return Promise.resolve(null);
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const texts = this.#texts;
    const made = this.#write(batch, watch);
    texts.set(key, made);
    made.catch(() => texts.delete(key));
    return made;
  }

  /** Drops the kept texts, for a time without streams. */
  clear(): void {
    this.#batch = undefined;
    this.#texts = new Map();
    this.#begun = 0;
  }

  async #write({ from, to, events }: Batch, watch: Watch): Promise<Buffer | null> {
    const rows = events.filter((row) => isSubject(watch, row));
    if (rows.length === 0) return nothing;
    this.#begun += 1;
    if (this.#begun > maxTexts) return null;
    const wanted = rows.filter(({ kind }) => watch.kinds.has(kind));
    const page: Page = { events: wanted, from: from.snapshot, upTo: to.snapshot, isWhole: true };
    let text = '';
    for await (const state of this.#reader.environmentTexts(watch, rows, `${to.serial}`)) text += state;
    for (const row of wanted) {
      // A row of a log may have many lines.
      for await (const one of this.#reader.texts(watch, row, page, 0)) {
        text += one.text;
        if (text.length > longestText) return null;
      }
    }
    return Buffer.from(text);
  }
}

/**
 * Returns a key that streams have in common if they watch the same; null if the stream has its own state: that of a
 * deployment ends with it.
 */
export function keyOf(watch: Watch): string | null {
  return watch.deploymentId === undefined ? JSON.stringify({ ...watch, kinds: [...watch.kinds] }) : null;
}

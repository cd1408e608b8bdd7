import { createHash } from 'node:crypto';
import type { Redactor } from '@davit/base';
import type { EngineHooks } from '../port.ts';
import { redactorOrBlind } from '../shared/readable.ts';
import { Semaphore } from '../shared/semaphore.ts';

/** Bytes of all redactors that are kept. The largest secrets take more than 100 MB for one service. */
const defaultBytes = 128 * 1024 * 1024;
const bytesOfEntry = 1024;
/** More sets of secrets than all clusters use at a time. */
const maxRemembered = 20_000;

interface Entry {
  readonly redact: Redactor;
  readonly bytes: number;
}

/**
 * The redactors of all output that this process stores. A redactor of many large secrets takes megabytes, so the pool
 * keeps only as many as fit, and builds the others again when a line needs them. Services with the same secrets share a
 * redactor.
 */
export class RedactorPool {
  readonly #secrets: EngineHooks['secrets'];
  readonly #maxBytes: number;
  /** The kept redactors, least recently used first. */
  readonly #kept = new Map<string, Entry>();
  readonly #building = new Map<string, Promise<Redactor>>();
  // A redactor that is being built is not counted yet, so only one at a time may exceed the limit.
  readonly #turn = new Semaphore(1);
  /** Most secrets that were ever found, by set of secrets. */
  readonly #found = new Map<string, number>();
  #newest = '';
  #bytes = 0;

  constructor({ secrets }: Pick<EngineHooks, 'secrets'>, maxBytes = defaultBytes) {
    this.#secrets = secrets;
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the redactors that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns a function that returns the redactor of these secret versions. It returns a promise while the redactor is
   * built, which rejects if the secrets cannot be read. Callers must not keep the redactor longer than for one text.
   */
  open(secretIds: readonly string[]): () => Redactor | Promise<Redactor> {
    const ids = [...new Set(secretIds)].toSorted();
    const key = createHash('sha256').update(ids.join(' ')).digest('base64');
    return () => this.#use(key) ?? this.#built(key, ids);
  }

  #use(key: string): Redactor | undefined {
    const entry = this.#kept.get(key);
    if (entry !== undefined && key !== this.#newest) {
      this.#kept.delete(key);
      this.#kept.set(key, entry);
      this.#newest = key;
    }
    return entry?.redact;
  }

  #built(key: string, ids: readonly string[]): Promise<Redactor> {
    const known = this.#building.get(key);
    if (known !== undefined) return known;
    const made = this.#turn.use(() => this.#build(key, ids)).finally(() => this.#building.delete(key));
    this.#building.set(key, made);
    return made;
  }

  async #build(key: string, ids: readonly string[]): Promise<Redactor> {
    const values = ids.length === 0 ? new Map<string, string>() : await this.#secrets(ids);
    const isWhole = this.#remember(key, values.size);
    const redact: Redactor = isWhole ? await redactorOrBlind(values.values()) : hideAll;
    this.#keep(key, { redact, bytes: bytesOfEntry + (redact.bytes ?? 0) });
    return redact;
  }

  /**
   * Returns whether all secrets are there that were there before. A secret that was deleted since may still be printed
   * by what was started with it.
   */
  #remember(key: string, count: number): boolean {
    const former = this.#found.get(key) ?? 0;
    this.#found.delete(key);
    this.#found.set(key, Math.max(former, count));
    const oldest = this.#found.keys().next().value;
    if (this.#found.size > maxRemembered && oldest !== undefined) this.#found.delete(oldest);
    return count >= former;
  }

  #keep(key: string, entry: Entry): void {
    this.#kept.set(key, entry);
    this.#newest = key;
    this.#bytes += entry.bytes;
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes <= this.#maxBytes || oldest === key) return;
      this.#kept.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}

function hideAll(text: string): string {
  return text === '' ? '' : '[REDACTED] A secret that this was started with is deleted, so its output is hidden. Deploy again.';
}

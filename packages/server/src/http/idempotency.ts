import { createHash, randomUUID } from 'node:crypto';
import { AppError, canonicalJson, pause } from '@davit/base';
import { heldSessionLocks, isTakenKey, type Database, type Queryable } from '@davit/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Vault } from '../secrets/vault.ts';
import { answerOf } from './answers.ts';
import * as store from './idempotency-store.ts';
import { LivenessLock } from './liveness-lock.ts';
import { validationFailed } from './validation.ts';

/*
 * `Idempotency-Key`: a POST that is repeated with the same key gets the answer of the first request. The lifecycle of a
 * key:
 * - A row claims the key before the operation begins.
 * - The transaction of the operation's first change marks the row.
 * - The answer is stored in the row when the operation ends.
 *
 * If the process exits in between, the row shows whether anything was changed: only a request that changed nothing is
 * run again. The session lock of the process shows that it exited, as PostgreSQL then releases the lock. A process that
 * only lost its connection finds its key missing when it tries to change something, and changes nothing. Answers are
 * sealed, because the answer that creates an API token contains its value. Requests without the header use none of
 * this.
 */

/** The answer of the first request, which is sent again when the key is repeated. */
interface StoredAnswer {
  readonly status: number;
  readonly body: string;
  readonly etag?: string;
}

interface StoredRequest {
  /** Hash of the request. The name is stored, so it stays. */
  readonly asked: string;
  readonly answer?: StoredAnswer;
}

/** One request with an idempotency key. */
export interface KeyedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly actor: string;
  readonly key: string;
  /** Runs the operation and sets the status code of the reply. The change is recorded with `idempotencyId`. */
  readonly run: (idempotencyId: string) => Promise<unknown>;
}

const longestKey = 255;
const waitMilliseconds = 10_000;
const lookEveryMilliseconds = 50;

export class IdempotencyKeys {
  readonly #database: Database;
  readonly #vault: Vault;
  readonly #life: LivenessLock;
  /** Id of this process. Rows with another id may belong to a process that has exited. */
  readonly #runner = randomUUID();
  readonly #underway = new Map<string, Promise<void>>();

  constructor({ database, vault, connectionString }: IdempotencyParts) {
    this.#database = database;
    this.#vault = vault;
    this.#life = new LivenessLock(connectionString, lockName(this.#runner));
  }

  /** Closes the connection whose lock shows that this process is alive. */
  close(): Promise<void> {
    return this.#life.close();
  }

  /**
   * Runs the request, or sends the answer of the first request with this key. IDEMPOTENCY_KEY_REUSED,
   * IDEMPOTENCY_KEY_BUSY, IDEMPOTENCY_ANSWER_LOST.
   */
  async answer(keyed: KeyedRequest): Promise<FastifyReply> {
    const { actor, key, reply } = keyed;
    checkKey(key);
    const requested = fingerprint(keyed.request);
    // Without the lock, other processes treat the rows of this process as abandoned.
    await this.#life.hold();
    const giveUpAt = performance.now() + waitMilliseconds;
    for (;;) {
      const id = randomUUID();
      const claim = [id, actor, key, this.#seal(id, { asked: requested }), this.#runner];
      // The id is noted before the row becomes visible. Otherwise, other requests of this process would treat the row
      // as abandoned.
      const done = this.#note(id);
      try {
        if ((await this.#database.maybe(store.keyClaim, claim)) !== undefined) return await this.#first(id, requested, keyed);
      } finally {
        done();
      }
      const answer = await this.#former(actor, key, requested);
      if (answer !== undefined) return send(reply.header('idempotency-replayed', 'true'), answer);
      if (performance.now() > giveUpAt) throw busy();
    }
  }

  async #isAlive(runner: string): Promise<boolean> {
    return (await heldSessionLocks(this.#database, [lockName(runner)])).size > 0;
  }

  #note(id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underway.set(id, promise);
    return () => {
      this.#underway.delete(id);
      resolve();
    };
  }

  async #first(id: string, requested: string, { request, reply, run }: KeyedRequest): Promise<FastifyReply> {
    let answer: StoredAnswer;
    let failure: unknown;
    try {
      const result = await run(id);
      const etag = reply.getHeader('etag');
      const text = result === undefined ? '' : reply.serialize(result);
      const body = typeof text === 'string' ? text : new TextDecoder().decode(text);
      answer = { status: reply.statusCode, body, ...(typeof etag === 'string' ? { etag } : {}) };
    } catch (error) {
      if (isTakenKey(error)) throw busy();
      failure = error;
      const refused = answerOf(error, request.id);
      answer = { status: refused.status, body: JSON.stringify(refused) };
    }
    if (answer.status >= 500) {
      await this.#forget(id);
      throw failure;
    }
    try {
      await this.#database.run(store.keyAnswer, [id, this.#seal(id, { asked: requested, answer })]);
    } catch (error) {
      // The operation has succeeded and its answer is available, so the caller gets it. Only a repeated request will
      // not get it.
      request.log.warn({ err: error }, 'the answer of an idempotency key could not be kept');
    }
    if (failure !== undefined) throw failure;
    return send(reply, answer);
  }

  /** Returns the answer of the earlier request with this key; undefined if the caller must try the claim again. */
  async #former(actor: string, key: string, requested: string): Promise<StoredAnswer | undefined> {
    const row = await this.#database.maybe(store.keyRead, [actor, key]);
    if (row === undefined) return undefined;
    const kept = this.#open(row);
    if (kept.asked !== requested) throw reused();
    if (kept.answer !== undefined) return kept.answer;
    const underway = this.#underway.get(row.id);
    if (underway !== undefined) {
      await Promise.race([underway, pause(waitMilliseconds)]);
    } else if (row.runner === this.#runner || !(await this.#isAlive(row.runner))) {
      // The earlier request ended without an answer.
      if (row.has_changed) throw lost();
      await this.#database.run(store.keyForgetUnused, [row.id]);
    } else {
      await pause(lookEveryMilliseconds);
    }
    return undefined;
  }

  async #forget(id: string): Promise<void> {
    try {
      // A failed request may have changed something all the same, for example if the database became unreachable before
      // it confirmed the COMMIT.
      await this.#database.run(store.keyForgetUnused, [id]);
    } catch {
      // The database is unreachable. The caller gets that error, and the row is later treated as abandoned.
    }
  }

  #seal(id: string, kept: StoredRequest): Buffer {
    return this.#vault.seal(id, JSON.stringify(kept));
  }

  #open(row: store.KeyRow): StoredRequest {
    const kept: StoredRequest = JSON.parse(this.#vault.open(row.id, row.sealed));
    return kept;
  }
}

export interface IdempotencyParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly connectionString: string;
}

const lockName = (runner: string): string => `idempotency ${runner}`;

/** Removes expired keys. */
export async function trimIdempotencyKeys(database: Queryable): Promise<void> {
  await database.run(store.keysTrim);
}

function send(reply: FastifyReply, { status, body, etag }: StoredAnswer): FastifyReply {
  void reply.code(status);
  if (etag !== undefined) void reply.header('etag', etag);
  if (body === '') return reply.send();
  // The stored text is sent unchanged: it must not be serialised again.
  return reply.header('content-type', 'application/json; charset=utf-8').serializer(String).send(body);
}

function checkKey(key: string): void {
  if (key.length <= longestKey && /^[\x20-\x7e]+$/.test(key)) return;
  throw validationFailed([{ path: 'Idempotency-Key', message: `must have 1 to ${longestKey} printable ASCII characters` }]);
}

/** Returns the hash of the operation, ids, query and body. The order of the body's members does not matter. */
function fingerprint({ method, url, body }: FastifyRequest): string {
  return createHash('sha256')
    .update(`${method} ${url}\n`)
    .update(canonicalJson(body ?? null))
    .digest('base64');
}

function reused(): AppError {
  return new AppError({
    code: 'IDEMPOTENCY_KEY_REUSED',
    message: 'This Idempotency-Key was used for another request (other path, query or body) in the last 24 hours. Use a new key.',
  });
}

function busy(): AppError {
  return new AppError({
    code: 'IDEMPOTENCY_KEY_BUSY',
    message: 'The first request with this Idempotency-Key is still being processed. Send it again in some seconds.',
  });
}

function lost(): AppError {
  return new AppError({
    code: 'IDEMPOTENCY_ANSWER_LOST',
    message:
      'The first request with this Idempotency-Key was executed, at least in part, but its answer was lost because the server or its database stopped. Check whether the change was made; if it was not, send the request with a new key.',
  });
}

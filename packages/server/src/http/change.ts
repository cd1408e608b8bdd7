import { AppError } from '@davit/base';
import type { Operation } from '@davit/contract';
import { forRequest, isStaleVersion, type ChangeRequest } from '@davit/db';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../auth/caller.ts';
import { validationFailed } from './validation.ts';

/*
 * What an operation that changes something tells the database of its request: who and from where, for the audit log, and the
 * version that `If-Match` expects. Triggers do the rest in the transaction of the change (migration 0008), so that no operation
 * can forget either, and none can change a record between check and write.
 */

type ChangingRequest = FastifyRequest<{ Params: Record<string, string> }>;
export type Change = <Result>(
  request: ChangingRequest,
  caller: Caller,
  idempotencyId: string | null,
  action: () => Promise<Result>,
) => Promise<Result>;

const longestAgent = 500;

/** How the handler of an operation is run: as a change that is made for its request. PRECONDITION_FAILED. */
export function changeOf(operation: Operation): Change {
  const hasVersion = operation.record !== null;
  const record = operation.record ?? [...operation.path.matchAll(/\{([^}]+)\}/g)].at(-1)?.[1] ?? '';
  const isConditional = operation.method === 'PUT' || operation.method === 'DELETE';
  return async (request, caller, idempotencyId, action) => {
    const { 'if-match': ifMatch, 'user-agent': agent } = request.headers;
    const versions = isConditional && ifMatch !== undefined ? expectedVersions(ifMatch) : null;
    if (versions !== null && !hasVersion) throw withoutVersion();
    const change: ChangeRequest = {
      operation: operation.id,
      origin: caller.origin,
      actor: caller.actor,
      triggered_by: caller.name,
      user_agent: agent === undefined ? null : agent.slice(0, longestAgent),
      address: request.ip,
      ...(operation.event === undefined ? {} : { event: operation.event }),
      ...(versions === null ? {} : { if_match: { id: request.params[record] ?? '', versions } }),
      ...(idempotencyId === null ? {} : { idempotency_id: idempotencyId }),
    };
    try {
      return await forRequest(change, action);
    } catch (error) {
      if (isStaleVersion(error)) throw stale(error);
      throw error;
    }
  };
}

function stale(cause: unknown): AppError {
  return new AppError({
    code: 'PRECONDITION_FAILED',
    message:
      'The record has another version than If-Match says: it was changed meanwhile. Read it again and repeat the edit on that.',
    cause,
  });
}

function withoutVersion(): AppError {
  return new AppError({
    code: 'PRECONDITION_FAILED',
    message: 'What this operation changes has no version, so that none can be expected. Send it without If-Match.',
  });
}

const tag = /\s*(W\/)?"([\x21\x23-\x7e]*)"\s*(?:,|$)/y;

/** Versions of an `If-Match`; null: any will do. A weak tag is never the same as another (RFC 9110, 13.1.1). */
function expectedVersions(header: string): readonly string[] | null {
  if (header.trim() === '*') return null;
  const versions: string[] = [];
  tag.lastIndex = 0;
  while (tag.lastIndex < header.length) {
    const match = tag.exec(header);
    if (match === null)
      throw validationFailed([{ path: 'If-Match', message: 'must be *, or the ETag of an answer with its quotes' }]);
    if (match[1] === undefined) versions.push(match[2] ?? '');
  }
  return versions;
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** Whether an operation answers one record, which has a version. */
export function answersRecord(operation: Operation): boolean {
  const response: Schema | null = operation.response;
  const properties = response?.properties;
  return properties?.['id'] !== undefined && properties['updated_at'] !== undefined;
}

/**
 * `ETag` of a record: its `updated_at`, which differs for each change of it (see `keep_version`). Made of what is answered anyway,
 * as reads are counted in microseconds. What others contribute to an answer, as counts, is no part of the version.
 */
export function etagOf(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null || !('updated_at' in record)) return undefined;
  return typeof record.updated_at === 'string' ? `"${record.updated_at}"` : undefined;
}

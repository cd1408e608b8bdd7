import { AppError } from '@davit/base';
import type { Operation } from '@davit/contract';
import { forRequest, isStaleVersion, type ChangeRequest } from '@davit/db';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../auth/caller.ts';
import { validationFailed } from './validation.ts';

/*
 * The context of a request that an operation passes to the database when it changes something: the actor and the
 * client's address for the audit log, and the version that `If-Match` expects. Triggers use the context in the
 * transaction of the change (migration 0008). So no operation can forget to audit or to check the version, and no
 * record can change between the check and the write.
 */

type ChangingRequest = FastifyRequest<{ Params: Record<string, string> }>;
export type Change = <Result>(
  request: ChangingRequest,
  caller: Caller,
  idempotencyId: string | null,
  action: () => Promise<Result>,
) => Promise<Result>;

const longestAgent = 500;

/**
 * Returns the function that runs an operation's handler as a change, in the context of its request.
 * PRECONDITION_FAILED.
 */
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
      'The version of the record differs from If-Match: it was changed in the meantime. Read it again, then repeat the edit.',
    cause,
  });
}

function withoutVersion(): AppError {
  return new AppError({
    code: 'PRECONDITION_FAILED',
    message: 'The resource that this operation changes has no version. Send the request without If-Match.',
  });
}

const tag = /\s*(W\/)?"([\x21\x23-\x7e]*)"\s*(?:,|$)/y;

/**
 * Returns the versions of an `If-Match` header; null if it is `*`, which matches any version. Weak tags are dropped,
 * since a weak tag never matches (RFC 9110, 13.1.1).
 */
function expectedVersions(header: string): readonly string[] | null {
  if (header.trim() === '*') return null;
  const versions: string[] = [];
  tag.lastIndex = 0;
  while (tag.lastIndex < header.length) {
    const match = tag.exec(header);
    if (match === null)
      throw validationFailed([{ path: 'If-Match', message: 'must be *, or the ETag of an answer, including its quotes' }]);
    if (match[1] === undefined) versions.push(match[2] ?? '');
  }
  return versions;
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** Returns whether an operation responds with a single record, which has a version. */
export function answersRecord(operation: Operation): boolean {
  const response: Schema | null = operation.response;
  const properties = response?.properties;
  return properties?.['id'] !== undefined && properties['updated_at'] !== undefined;
}

/**
 * Returns the `ETag` of a record: its `updated_at`, which differs after each change of the record (see `keep_version`).
 * The tag is derived from the response itself, because the cost of reads is measured in microseconds. Parts of a
 * response that come from other records, such as counts, do not affect the version.
 */
export function etagOf(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null || !('updated_at' in record)) return undefined;
  return typeof record.updated_at === 'string' ? `"${record.updated_at}"` : undefined;
}

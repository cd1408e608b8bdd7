import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { Caller, Person } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { recordPersonEvent } from './audit.ts';
import { invalid, notFound } from '../shared/problems.ts';
import * as store from './store.ts';

type Account = Response<(typeof operations)['getAccountInformation']>;
type EditRequest = Body<(typeof operations)['editAccountInformation']>;
type SessionList = Response<(typeof operations)['listSessions']>;
type Session = Response<(typeof operations)['createSession']>;

type SessionDeps = Needs<'database' | 'tokens' | 'sessions'>;

interface FromPerson {
  readonly caller: Caller;
  readonly client: ClientFacts;
}

export async function readAccount(deps: Needs<'database'>, caller: Caller): Promise<Account> {
  return toAccount(await deps.database.one(store.accountRead, [personOf(caller).id]));
}

export async function editAccount(deps: Needs<'database'>, caller: Caller, request: EditRequest): Promise<Account> {
  const row = await deps.database.one(store.accountEdit, [personOf(caller).id, request.communication_email ?? null]);
  return toAccount(row);
}

/**
 * Creates a session for the token of an issuer only. The holder of a session must not be able to extend it for ever.
 */
export async function createSession(deps: Needs<'sessions'>, caller: Caller): Promise<Session> {
  const person = personOf(caller);
  if (person.sessionId !== null) {
    throw new AppError({
      code: 'FORBIDDEN',
      message: 'A session cannot be exchanged for another one. Sign in again, and send the id token of the issuer.',
    });
  }
  const { token, expiresAt } = await deps.sessions.create(person.id);
  return { token, token_type: 'Bearer', expires_at: expiresAt.toISOString() };
}

export async function listSessions(deps: Needs<'sessions'>, caller: Caller): Promise<SessionList> {
  const { id, sessionId } = personOf(caller);
  const rows = await deps.sessions.list(id);
  return { results: rows.map((row) => ({ ...row, is_current: row.id === sessionId })) };
}

/** Ends a session of the caller. NOT_FOUND. */
export async function endSession(deps: SessionDeps, { caller, client }: FromPerson, id: string): Promise<void> {
  const { id: personId } = personOf(caller);
  if (!(await deps.sessions.endOf(personId, id))) throw notFound('session');
  await recordPersonEvent(deps.database, personId, { type: 'DELETE', part: 'SESSION', operation: 'endSession', client });
  deps.tokens.forget();
}

export async function endOtherSessions(deps: SessionDeps, { caller, client }: FromPerson): Promise<void> {
  const { id, sessionId } = personOf(caller);
  await deps.sessions.endAll(id, sessionId);
  await recordPersonEvent(deps.database, id, { type: 'DELETE', part: 'SESSION', operation: 'endOtherSessions', client });
  deps.tokens.forget();
}

export async function deleteSession(deps: SessionDeps, { caller, client }: FromPerson): Promise<void> {
  const { id, sessionId } = personOf(caller);
  if (sessionId === null) {
    throw invalid('Authorization', 'must be the session to end; a token of an issuer can only be ended there');
  }
  await deps.sessions.end(sessionId);
  await recordPersonEvent(deps.database, id, { type: 'SIGN_OUT', part: null, operation: 'deleteSession', client });
  deps.tokens.forget();
}

/** Returns the person of a caller of an operation for people. */
export function personOf({ person }: Caller): Person {
  if (person === null) throw new Error('an operation for people was called without one');
  return person;
}

function toAccount(row: store.AccountRow): Account {
  const { id, created_at, ...texts } = row;
  return { id, created_at, ...present(texts) };
}

function present<Fields extends Readonly<Record<string, string | null>>>(fields: Fields): { [Key in keyof Fields]?: string } {
  const kept: { [Key in keyof Fields]?: string } = {};
  for (const key in fields) if (fields[key] !== null) kept[key] = fields[key];
  return kept;
}

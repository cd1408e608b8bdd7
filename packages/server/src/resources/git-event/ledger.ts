import type { operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { notFound } from '../shared/problems.ts';
import { summaryOf } from './event.ts';
import { trimPreviews } from './preview-store.ts';
import * as store from './store.ts';

type Events = Response<(typeof operations)['listServiceGitEvents']>;

// Days. Older entries are of no more use, and a repository with very many pushes must not fill the database.
const keptDays = 30;
const keptOfRepository = 1000;

/**
 * Returns the events of the repository of a service, with the verdicts for this service. Empty for a service without a
 * repository.
 */
export async function listServiceEvents(deps: Needs<'database'>, caller: Caller, serviceId: string): Promise<Events> {
  const service = await deps.database.maybe(store.repositoryOfService, [serviceId, caller.organizationId]);
  if (service === undefined) throw notFound('service');
  const { organization_id, repository } = service;
  const rows = await deps.database.many(store.ledgerOfService, [organization_id, repository, serviceId]);
  return { results: rows.map(toRecord) };
}

/** Returns the events of all repositories of an organization. */
export async function listOrganizationEvents(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<Events> {
  await readOrganization(deps, caller, organizationId);
  return { results: (await deps.database.many(store.ledgerOfOrganization, [organizationId, null])).map(toRecord) };
}

/** Deletes the entries whose retention time has passed. */
export async function trimGitEvents(database: Queryable): Promise<void> {
  await database.run(store.trimEvents, [keptDays, keptOfRepository]);
  await database.run(trimPreviews, [keptDays]);
}

function toRecord({ event, verdicts, ...row }: store.LedgerRow): Events['results'][number] {
  return {
    id: row.id,
    created_at: row.created_at,
    source: row.source,
    kind: row.kind,
    repository: row.repository,
    summary: summaryOf(event),
    branch: event.kind === 'PUSH' ? event.branch : event.kind === 'PULL_REQUEST' ? event.source.branch : null,
    git_commit_id: event.kind === 'PUSH' ? event.after : event.kind === 'PULL_REQUEST' ? event.source.commit : null,
    pull_request: event.kind === 'PULL_REQUEST' ? event.number : null,
    status: row.status,
    reason: row.reason,
    times: row.times,
    verdicts: verdicts.map(({ commit_id, ...verdict }) => ({ ...verdict, git_commit_id: commit_id })),
  };
}

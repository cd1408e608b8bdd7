import { randomBytes, randomUUID } from 'node:crypto';
import type { GitProvider, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { invalid, notFound } from '../shared/problems.ts';
import * as store from './store.ts';

type Shown = Response<(typeof operations)['createServiceGitWebhook']>;

/** The repository of a service. */
export interface ServiceRepository extends store.RepositoryRow {
  readonly repository: string;
  readonly provider: GitProvider;
  readonly url: string;
}

/**
 * Returns the repository of a service. Fails with NOT_FOUND, or VALIDATION_FAILED if the service comes from an image or
 * a chart repository.
 */
export async function repositoryOf(db: Queryable, caller: Caller, serviceId: string): Promise<ServiceRepository> {
  const row = await db.maybe(store.repositoryOfService, [serviceId, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  const { repository, url } = row;
  if (repository === null || url === null) {
    throw invalid('', 'the service has no git repository: it runs an image or a chart of a Helm repository');
  }
  return { ...row, repository, url, provider: row.provider ?? 'GENERIC' };
}

/**
 * Returns the address and the secret of the webhook of a service's repository. All services of the organization that
 * come from that repository share the webhook. The first call creates it. Idempotent, except with `rotate`: deliveries
 * signed with the former secret are refused from then on.
 */
export async function showWebhook(
  deps: Needs<'database' | 'vault', 'host' | 'port' | 'publicUrl'>,
  caller: Caller,
  serviceId: string,
  rotate: boolean,
): Promise<Shown> {
  return deps.database.transaction(async (tx) => {
    const { organization_id, repository, provider } = await repositoryOf(tx, caller, serviceId);
    const made = await ensureWebhook(deps, tx, organization_id, repository);
    const secret = rotate && !made.isNew ? newSecret() : made.secret;
    if (secret !== made.secret) await tx.run(store.rotateWebhook, [made.id, deps.vault.seal(made.id, secret)]);
    return {
      repository,
      provider,
      url: addressOf(deps, made.id),
      secret,
      content_type: 'application/json',
      events: [...wantedEvents[provider]],
    };
  });
}

interface EnsuredWebhook {
  readonly id: string;
  readonly secret: string;
  readonly isNew: boolean;
}

export async function ensureWebhook(
  { vault }: Needs<'vault'>,
  tx: Queryable,
  organizationId: string,
  repository: string,
): Promise<EnsuredWebhook> {
  const id = randomUUID();
  const secret = newSecret();
  const made = await tx.maybe(store.createWebhook, [id, organizationId, repository, vault.seal(id, secret)]);
  if (made !== undefined) return { id, secret, isNew: true };
  const former = await tx.one(store.findWebhook, [organizationId, repository]);
  return { id: former.id, secret: vault.open(former.id, former.sealed), isNew: false };
}

/** The secret has only letters and digits, because some hosts refuse other characters. */
function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/** Returns the URL at which the git host reaches this API. */
export function addressOf({ config }: Needs<never, 'host' | 'port' | 'publicUrl'>, webhookId: string): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.publicUrl ?? `http://${host}:${config.port}`}${webhookPath(webhookId)}`;
}

const webhookPath = (webhookId: string): string => `/git-webhook/${webhookId}`;

/** The events to select at the git host, by the names that the host uses. */
export const wantedEvents: Readonly<Record<GitProvider, readonly string[]>> = {
  HOSTA: ['push', 'pull_request'],
  HOSTB: ['push_events', 'merge_requests_events'],
  HOSTC: ['repo:push', 'pullrequest:created', 'pullrequest:updated', 'pullrequest:fulfilled', 'pullrequest:rejected'],
  GENERIC: ['push', 'pull_request'],
};

import { AppError } from '@davit/base';
import type { operations, Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { GitEventDeps } from './deps.ts';
import { remoteSettings } from '../../remote/get.ts';
import { gitToken } from '../git-token/index.ts';
import { listHooks, writeHook, type Hook, type HostedRepository } from './hosts/hooks.ts';
import * as store from './store.ts';
import { addressOf, ensureWebhook, repositoryOf, wantedEvents, type ServiceRepository } from './webhook.ts';

type Status = Response<(typeof operations)['getServiceGitWebhookStatus']>;

/**
 * Returns the status of the webhook of a service's repository. The status comes from the git host if a git token gives
 * access to its API, and from the received deliveries.
 */
export async function webhookStatus(deps: GitEventDeps, caller: Caller, serviceId: string): Promise<Status> {
  const repository = await repositoryOf(deps.database, caller, serviceId);
  const hosted = await hostedOf(deps, repository);
  const webhook = await deps.database.maybe(store.findWebhook, [repository.organization_id, repository.repository]);
  const received = await lastReceived(deps, repository, webhook !== undefined);
  if (hosted === null || webhook === undefined) return { status: received, provider: repository.provider, missing_events: [] };
  try {
    const hooks = await listHooks(hosted, remoteSettings(deps.config));
    return statusOf(
      repository,
      hooks.find(({ url }) => url === addressOf(deps, webhook.id)),
      received,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { status: received === 'ACTIVE' ? 'ACTIVE' : 'UNABLE_TO_VERIFY', provider: repository.provider, missing_events: [] };
  }
}

/**
 * Creates the webhook at the git host, or updates it, secret included. Without a git token, or for a server without a
 * known API, only the known status is returned. Fails with NOT_SUPPORTED if the operator has not configured the public
 * URL of this API, or with REMOTE_REFUSED and similar errors.
 */
export async function syncWebhook(deps: GitEventDeps, caller: Caller, serviceId: string): Promise<Status> {
  const repository = await repositoryOf(deps.database, caller, serviceId);
  const { provider, organization_id } = repository;
  const made = await deps.database.transaction((tx) => ensureWebhook(deps, tx, organization_id, repository.repository));
  const hosted = await hostedOf(deps, repository);
  if (hosted === null) return webhookStatus(deps, caller, serviceId);
  if (deps.config.publicUrl === null) {
    throw new AppError({
      code: 'NOT_SUPPORTED',
      message: 'The git host needs the address of this API: the operator must set DAVIT_PUBLIC_URL.',
    });
  }
  const settings = remoteSettings(deps.config);
  const url = addressOf(deps, made.id);
  const former = (await listHooks(hosted, settings)).find((hook) => hook.url === url);
  const wanted = { url, secret: made.secret, events: wantedEvents[provider] };
  await writeHook(hosted, { id: former?.id ?? null, wanted }, settings);
  const hooks = await listHooks(hosted, settings);
  return statusOf(
    repository,
    hooks.find((hook) => hook.url === url),
    'UNABLE_TO_VERIFY',
  );
}

/** Returns null if there is no token, or no API that Davit knows. */
async function hostedOf(
  deps: Needs<'database' | 'vault'>,
  { provider, url, git_token_id }: ServiceRepository,
): Promise<HostedRepository | null> {
  if (provider === 'GENERIC' || git_token_id === null || !/^https?:/i.test(url)) return null;
  const token = await gitToken(deps, git_token_id);
  if (token === null || token.type !== provider) return null;
  const path = new URL(url).pathname.replace(/(\.git)?\/*$/, '').replace(/^\/+/, '');
  return { provider, api: token.apiUrl, token: token.value, path: decodeURIComponent(path) };
}

type Word = Status['status'];

/** Returns the status as far as it follows from deliveries. */
async function lastReceived(
  deps: Needs<'database'>,
  { organization_id, repository }: ServiceRepository,
  isMade: boolean,
): Promise<Word> {
  const row = await deps.database.maybe(store.readRepository, [organization_id, repository]);
  if (row?.is_refused === true) return 'MISCONFIGURED';
  if (row?.is_delivered === true) return 'ACTIVE';
  // The address was shown and may have been entered at the host, but no delivery has arrived yet.
  return isMade ? 'UNABLE_TO_VERIFY' : 'NOT_CONFIGURED';
}

function statusOf({ provider }: ServiceRepository, hook: Hook | undefined, received: Word): Status {
  // The hooks of the repository may not include ours, although deliveries arrive, through another address of this API.
  if (hook === undefined) return { status: received === 'ACTIVE' ? 'ACTIVE' : 'NOT_CONFIGURED', provider, missing_events: [] };
  const missing_events = wantedEvents[provider].filter((event) => !hook.events.includes(event));
  const isWrong = missing_events.length > 0 || !hook.isActive || received === 'MISCONFIGURED';
  return { status: isWrong ? 'MISCONFIGURED' : 'ACTIVE', provider, missing_events };
}

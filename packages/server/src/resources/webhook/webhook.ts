import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { recordsOf } from '../organization/index.ts';
import { invalid } from '../shared/problems.ts';
import * as store from './store.ts';
import { targetProblem } from './target.ts';

type Webhook = Response<(typeof operations)['getOrganizationWebhook']>;
type Webhooks = Response<(typeof operations)['listOrganizationWebHooks']>;
type CreateRequest = Body<(typeof operations)['createOrganizationWebhook']>;
type EditRequest = Body<(typeof operations)['editOrganizationWebhook']>;
type Attempts = Response<(typeof operations)['listWebhookEvent']>;

/** An id below an organization. */
export interface WebhookIds {
  readonly organizationId: string;
  readonly webhookId: string;
}

/** The words of a request: the base path of their vocabulary, or null for the contract's. */
interface Spoken {
  readonly basePath: string | null;
}

const keptDays = 30;

export async function listWebhooks(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<Webhooks> {
  return { results: await recordsOf(deps, caller, organizationId, store.webhookList) };
}

/**
 * Creates a webhook. Its deliveries use the words of the request. Fails with VALIDATION_FAILED if Davit may not call
 * the URL.
 */
export async function createWebhook(
  deps: Needs<'database' | 'vault', 'allowPrivateTargets'>,
  caller: Caller,
  { organizationId, basePath }: { readonly organizationId: string } & Spoken,
  request: CreateRequest,
): Promise<Webhook> {
  checkTarget(deps, request.target_url);
  const id = randomUUID();
  const row = await deps.database.maybe(store.webhookCreate, [
    organizationId,
    caller.organizationId,
    id,
    request.kind ?? 'STANDARD',
    request.target_url,
    [...new Set(request.events)],
    sealSecret(deps, id, request.target_secret),
    request.description ?? '',
    request.enabled ?? true,
    request.project_names_filter ?? [],
    [...new Set(request.environment_types_filter)],
    basePath,
  ]);
  if (row === undefined) throw notFound('organization');
  return row;
}

export async function readWebhook(deps: Needs<'database'>, caller: Caller, ids: WebhookIds): Promise<Webhook> {
  const row = await deps.database.maybe(store.webhookRead, [ids.organizationId, caller.organizationId, ids.webhookId]);
  if (row === undefined) throw notFound('webhook');
  return row;
}

/**
 * Edits a webhook. Omitted members stay; `null` removes a member. An empty secret removes the secret. With another URL,
 * deliveries use the words of this request from then on. Fails with VALIDATION_FAILED if the URL changes and the secret
 * stays.
 */
export async function editWebhook(
  deps: Needs<'database' | 'vault', 'allowPrivateTargets'>,
  caller: Caller,
  ids: WebhookIds & Spoken,
  request: EditRequest,
): Promise<Webhook> {
  checkTarget(deps, request.target_url);
  const { target_secret: secret, description, project_names_filter: names, environment_types_filter: modes } = request;
  const row = await deps.database.maybe(store.webhookEdit, [
    ids.organizationId,
    caller.organizationId,
    ids.webhookId,
    request.kind,
    request.target_url,
    [...new Set(request.events)],
    secret !== undefined,
    sealSecret(deps, ids.webhookId, secret),
    description === undefined ? null : (description ?? ''),
    request.enabled ?? null,
    names === undefined ? null : (names ?? []),
    modes === undefined ? null : [...new Set(modes)],
    ids.basePath,
  ]);
  if (row !== undefined) return row;
  await readWebhook(deps, caller, ids);
  throw invalid(
    'target_secret',
    'must be sent again (or null, for none) because target_url changes: a stored secret is never sent to another address',
  );
}

export async function deleteWebhook(deps: Needs<'database'>, caller: Caller, ids: WebhookIds): Promise<void> {
  const count = await deps.database.run(store.webhookDelete, [ids.organizationId, caller.organizationId, ids.webhookId]);
  if (count === 0) throw notFound('webhook');
}

/** Returns the newest 10,000 attempts to deliver of the last 30 days, newest first. The contract has no paging here. */
export async function listAttempts(deps: Needs<'database'>, caller: Caller, ids: WebhookIds): Promise<Attempts> {
  const { id } = await readWebhook(deps, caller, ids);
  return { results: await deps.database.many(store.attemptList, [id]) };
}

/** Repeats the delivery of an attempt, whatever its result. Fails with WEBHOOK_DISABLED if the webhook is disabled. */
export async function redeliver(
  deps: Needs<'database'>,
  caller: Caller,
  ids: WebhookIds & { readonly webhookEventId: string },
): Promise<void> {
  const { id } = await readWebhook(deps, caller, ids);
  const found = await deps.database.maybe(store.deliveryRepeat, [ids.webhookEventId, id]);
  if (found === undefined) throw notFound('webhook event');
  if (!found.enabled) {
    throw new AppError({ code: 'WEBHOOK_DISABLED', message: 'The webhook is switched off. Switch it on with `enabled` first.' });
  }
}

/** Deletes old finished deliveries and their attempts. */
export async function trimDeliveries(database: Queryable): Promise<void> {
  await database.run(store.deliveriesTrim, [keptDays]);
}

function checkTarget({ config }: Needs<never, 'allowPrivateTargets'>, url: string): void {
  const problem = targetProblem(url, config.allowPrivateTargets);
  if (problem !== undefined) throw invalid('target_url', problem);
}

function sealSecret({ vault }: Needs<'vault'>, id: string, secret: string | null | undefined): Buffer | null {
  return secret === undefined || secret === null || secret === '' ? null : vault.seal(id, secret);
}

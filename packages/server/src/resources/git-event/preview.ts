import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import { forRequest, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { copyEnvironment } from '../clone/index.ts';
import { requestEnvironment } from '../deployment/index.ts';
import { refuseClone } from '../environment/index.ts';
import { TryAgain } from './attempt.ts';
import * as store from './preview-store.ts';

/** The source of a preview: an environment, together with a pull request of a repository or a tag of an image. */
export interface PreviewSource {
  readonly organizationId: string;
  readonly environmentId: string;
  readonly repository: string;
  readonly request: string;
  /** Name of the new environment. */
  readonly name: string;
}

/** The differences between a service and its copy: members of its spec, and the commit to deploy. */
export interface PreviewService {
  /** Id of the original service. */
  readonly id: string;
  readonly patch: object;
  readonly commitId: string | null;
}

/** IN_USE: the environment has as many previews as are allowed. */
export class TooManyPreviews extends AppError {
  constructor(count: number, most: number) {
    super({ code: 'IN_USE', message: `The environment has ${count} previews, and ${most} are allowed at once.` });
  }
}

/** A requested deployment of a preview. */
export interface Previewed {
  readonly environmentId: string;
  readonly environmentName: string;
  readonly requestId: string;
}

/**
 * Creates the preview of a place, or updates the existing one, and requests its deployment: the whole environment,
 * databases included. Runs in a transaction of the caller. Fails with NAME_TAKEN, with TooManyPreviews, with the errors
 * of a deployment, or with TryAgain while the former preview is still being removed.
 */
export async function deployPreview(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings | 'port' | 'previewHours' | 'previewsPerEnvironment'>,
  tx: Queryable,
  caller: Caller,
  { source, services, former }: PreviewRequest,
): Promise<Previewed> {
  if (former?.state === 'CLOSING') {
    if (former.environment_id !== null) throw new TryAgain('the former preview is still being removed');
    await tx.run(store.endPreview, [former.id]);
  }
  return former === null || former.environment_id === null
    ? makePreview(deps, tx, caller, { source, services })
    : bringUpToDate(deps, tx, caller, { preview: former, environmentId: former.environment_id, services });
}

export interface PreviewRequest {
  readonly source: PreviewSource;
  readonly services: readonly PreviewService[];
  /** The existing preview, if any. */
  readonly former: store.PreviewRow | null;
}

async function makePreview(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings | 'port' | 'previewHours' | 'previewsPerEnvironment'>,
  tx: Queryable,
  caller: Caller,
  { source, services }: Pick<PreviewRequest, 'source' | 'services'>,
): Promise<Previewed> {
  const id = randomUUID();
  const { organizationId, environmentId: sourceId, repository, request: number, name } = source;
  await tx.maybe(store.previewsLock, [sourceId]);
  const { count } = await tx.one(store.countPreviews, [sourceId]);
  const most = deps.config.previewsPerEnvironment;
  if (count >= most) throw new TooManyPreviews(count, most);
  const begun = await tx.maybe(store.beginPreview, [id, organizationId, sourceId, repository, number]);
  if (begun === undefined) throw new TryAgain('another process makes this preview');
  const request = { name, mode: 'PREVIEW' as const, apply_deployment_rule: true };
  const copy = await copyEnvironment(deps, tx, caller, { id: sourceId, request });
  const preview = { id, services: Object.fromEntries(copy.services) };
  return deployCopies(deps, tx, caller, { preview, environmentId: copy.environmentId, name, services, redeploy: false });
}

async function bringUpToDate(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings | 'previewHours'>,
  tx: Queryable,
  caller: Caller,
  {
    preview,
    environmentId,
    services,
  }: { readonly preview: store.PreviewRow; readonly environmentId: string; readonly services: readonly PreviewService[] },
): Promise<Previewed> {
  const name = preview.environment_name ?? '';
  return deployCopies(deps, tx, caller, { preview, environmentId, name, services, redeploy: true });
}

interface Copies {
  readonly preview: Pick<store.PreviewRow, 'id' | 'services'>;
  readonly environmentId: string;
  readonly name: string;
  readonly services: readonly PreviewService[];
  readonly redeploy: boolean;
}

async function deployCopies(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings | 'previewHours'>,
  tx: Queryable,
  caller: Caller,
  copies: Copies,
): Promise<Previewed> {
  const { preview, environmentId, name, services, redeploy } = copies;
  const commits = new Map<string, string>();
  for (const { id, patch, commitId } of services) {
    const copyId = preview.services[id];
    // The service is newer than the preview, or its copy was deleted.
    if (copyId === undefined) continue;
    await tx.run(store.patchService, [copyId, JSON.stringify(patch)]);
    if (commitId !== null) commits.set(copyId, commitId);
  }
  const requestId = await requestEnvironment(deps, tx, caller, { environmentId, redeploy, commits });
  const last = services[0]?.commitId ?? null;
  await tx.run(store.keepPreview, [preview.id, environmentId, JSON.stringify(preview.services), last, deps.config.previewHours]);
  return { environmentId, environmentName: name, requestId };
}

/**
 * Runs an action that creates or changes a preview. The audit log treats the action as a request. Everything happens in
 * one transaction. Fails like a clone.
 */
export function asRequest<Result>(
  deps: Needs<'database'>,
  caller: Caller,
  name: string,
  action: (tx: Queryable) => Promise<Result>,
): Promise<Result> {
  const { actor, origin, name: triggered_by } = caller;
  const request = { operation: 'deployPreview', actor, origin, triggered_by, user_agent: null, address: null, event: 'CLONE' };
  return refuseClone({ name }, () => forRequest(request, () => deps.database.transaction(action)));
}

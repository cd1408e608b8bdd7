import { isAppError } from '@davit/base';
import { DatabaseUnavailable, type Queryable } from '@davit/db';
import type { Caller } from '../auth/caller.ts';
import { deploySource, requestSelected, type ServiceDeps } from '../resources/service/index.ts';
import type { Needs } from '../deps.ts';
import { gitRepositories, type GitRepositories, type RepositorySettings } from '../git-remote/repositories.ts';
import * as store from '../git-remote/store.ts';

/** Seconds after which the process of a push is taken for dead. A deployment that is requested twice is done once. */
const lostAfterSeconds = 20;
/** A push lasts at most an hour. */
const endedAfterSeconds = 3600;

export interface LostPushLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

/**
 * Requests the deployments of pushes whose process died between the change of the branch and the request, in the name
 * of those who pushed. Several processes may do so at the same time.
 */
export async function deployLostPushes(
  deps: ServiceDeps & Needs<never, RepositorySettings>,
  log: LostPushLog,
  afterSeconds = lostAfterSeconds,
): Promise<void> {
  const repositories = gitRepositories(deps.config);
  for (const { id } of await deps.database.many(store.oldPushes, [afterSeconds])) {
    try {
      await deps.database.transaction((tx) => deployLost(deps, tx, { id, repositories, log }));
    } catch (error) {
      // A refusal, such as that of a service that is being deleted, stays one.
      const isFinal = isAppError(error) && !(error instanceof DatabaseUnavailable);
      log.warn({ err: error, push: id }, 'the deployment of a push could not be requested');
      if (isFinal) await deps.database.run(store.removePush, [id]);
    }
  }
}

interface Lost {
  readonly id: string;
  readonly repositories: GitRepositories;
  readonly log: LostPushLog;
}

async function deployLost(deps: ServiceDeps, tx: Queryable, { id, repositories, log }: Lost): Promise<void> {
  const push = await tx.maybe(store.lockPush, [id, endedAfterSeconds]);
  if (push === undefined) return;
  const { url, branch, commit_id: commitId } = push;
  const isNewest = url !== null && (await repositories.newest(url, branch)) === commitId;
  // Another push came after it, or it has not changed the branch yet.
  if (!isNewest && !push.has_ended) return;
  if (isNewest) {
    const choice = deploySource('APPLICATION', { git_commit_id: commitId });
    const selected = [{ id: push.service_id, type: 'APPLICATION' as const, path: '', choice }];
    await requestSelected(deps, tx, callerOf(push), { environmentId: push.environment_id, action: 'DEPLOY', selected });
    log.info({ push: id, service: push.service_id, commit: commitId }, 'a push of a process that died is deployed');
  }
  await tx.run(store.removePush, [id]);
}

/** Returns the caller that pushed. Its right to deploy was checked then. */
function callerOf({ actor, name, origin, organization_id: organizationId }: store.LostPush): Caller {
  return { actor, name, access: { kind: 'scope', scope: 'ADMIN' }, organizationId, origin, person: null };
}

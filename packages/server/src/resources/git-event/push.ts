import { AppError } from '@davit/base';
import { DatabaseUnavailable, type Queryable } from '@davit/db';
import type { ServiceView } from '@davit/engine/port';
import type { Needs } from '../../deps.ts';
import type { GitEventDeps } from './deps.ts';
import { deploySource, requestSelected, type Selected } from '../service/index.ts';
import { gitCaller } from './caller.ts';
import { RepositoryLook } from './changes.ts';
import type { PushEvent } from './event.ts';
import { filesThatCount, takesAll } from './paths.ts';
import * as store from './store.ts';
import { byEnvironment, withoutVerdict, writeVerdict, type Task } from './verdict.ts';

type Push = Task<PushEvent>;
type Service = store.CandidateRow;

/**
 * Deploys the pushed commit of the services that follow the branch, with one deployment per environment. Writes a
 * verdict for each service of the repository. If nothing was done for the same reason for all services, the function
 * returns that reason.
 */
export async function followPush(deps: GitEventDeps, push: Push): Promise<string | null> {
  const { event } = push;
  if (event.after === null) return 'the branch was deleted; what is deployed from it keeps running';
  const all = await deps.database.many(store.candidates, [push.organization_id, push.repository]);
  if (all.length === 0) return 'no service comes from this repository any more';
  const services = await withoutVerdict(deps.database, push.id, all);
  if (services.length === 0) return null;
  const look = new RepositoryLook(deps, all);
  const views = new Map((await deps.engine.services(deps.database, ids(services))).map((view) => [view.serviceId, view]));
  const chosen: Service[] = [];
  for (const service of services) {
    const reason = await whyNot(deps, { push, look, service, view: views.get(service.id) });
    if (reason === null) chosen.push(service);
    else await writeVerdict(deps.database, push.id, service, { verdict: 'IGNORED', reason, commitId: event.after });
  }
  for (const group of byEnvironment(chosen).values()) await deployGroup(deps, push, group);
  return null;
}

interface Considered {
  readonly push: Push;
  readonly look: RepositoryLook;
  readonly service: Service;
  readonly view: ServiceView | undefined;
}

/** Returns why a push does not deploy a service. Null if it does. Checks that need the git host come last. */
async function whyNot(deps: Needs<never, 'gitDeployForcePushes'>, considered: Considered): Promise<string | null> {
  const { push, look, service, view } = considered;
  const { event } = push;
  const branch = service.branch ?? event.defaultBranch ?? (await look.heads()).defaultBranch;
  if (branch !== event.branch) return `it follows the branch ${branch ?? 'HEAD'}, not ${event.branch}`;
  if (!service.auto_deploy) return 'auto_deploy is off';
  if (service.terraform_action === 'NOOP') return 'auto_deploy_config.terraform_action is NOOP';
  if (service.is_skipped) return 'it is skipped in its stage';
  const state = whyNotNow(view);
  if (state !== null) return state;
  if (service.asked_commit_id === event.after) return 'a deployment of this commit was already requested';
  if (service.asked_commit_id === null && service.deployed_commit_id === event.after) return 'this commit is deployed already';
  if (!deps.config.gitDeployForcePushes && (await isForced(push, look))) {
    return 'the push rewrote the history of the branch, which may bring back replaced commits; deploy it by hand, or push once more';
  }
  return whyNotPaths(considered);
}

/** Returns why the current state of a service prevents automatic updates. Null if nothing prevents them. */
export function whyNotNow(view: ServiceView | undefined): string | null {
  if (view === undefined || view.state === 'READY') return 'it was never deployed; pushes update what runs, so deploy it once';
  if (view.action === 'DELETE') return 'it is being deleted';
  if (view.state === 'STOPPED' || view.state === 'STOP_QUEUED')
    return 'it is stopped; the next deployment takes the newest commit';
  return null;
}

async function isForced({ event }: Push, look: RepositoryLook): Promise<boolean> {
  if (event.isForced !== null) return event.isForced;
  if (event.before === null || event.after === null) return false;
  return !(await look.changes({ base: event.before, head: event.after, sinceParting: false })).isForward;
}

/**
 * Returns why the changed paths do not concern the service. The pushed commit is compared with the deployed commit, not
 * with the commit before the push. So if a push was missed, or its deployment failed, the next push makes up for it.
 */
async function whyNotPaths({ push, look, service }: Considered): Promise<string | null> {
  const { before, after } = push.event;
  const filter = { rootPath: service.root_path, match: service.match, exclude: service.exclude };
  const base = service.deployed_commit_id ?? before;
  if (takesAll(filter) || base === null || after === null) return null;
  const { files } = await look.changes({ base, head: after, sinceParting: false });
  if (files === null || filesThatCount(files, filter).length > 0) return null;
  const outcome =
    service.match.length > 0
      ? 'matches its deployment restrictions'
      : `counts: all are outside ${service.root_path} or excluded by its restrictions`;
  return `none of the ${files.length} files that changed since the deployed commit ${base.slice(0, 12)} ${outcome}`;
}

/**
 * Requests the deployment and writes the verdicts in one transaction, so that a process that dies leaves both or
 * neither.
 */
async function deployGroup(deps: GitEventDeps, push: Push, services: readonly Service[]): Promise<void> {
  try {
    await deps.database.transaction((tx) => deployTogether(deps, tx, push, services));
  } catch (error) {
    if (!(error instanceof AppError) || error instanceof DatabaseUnavailable) throw error;
    const [first, ...others] = services;
    if (first === undefined) return;
    if (others.length === 0) {
      const verdict = { verdict: 'FAILED', reason: error.message, commitId: push.event.after } as const;
      await writeVerdict(deps.database, push.id, first, verdict);
      return;
    }
    // A service that cannot be deployed must not block the others.
    for (const service of services) await deployGroup(deps, push, [service]);
  }
}

async function deployTogether(deps: GitEventDeps, tx: Queryable, push: Push, services: readonly Service[]): Promise<void> {
  const { event } = push;
  const reason = `${event.branch} is now at ${event.after?.slice(0, 12)}`;
  const chosen: Service[] = [];
  for (const service of services) {
    const verdict = { verdict: 'DEPLOYED', reason: `${reason}${replacedBy(service)}`, commitId: event.after } as const;
    const isFirst = await writeVerdict(tx, push.id, service, verdict);
    if (isFirst) chosen.push(service);
  }
  const environmentId = chosen[0]?.environment_id;
  if (environmentId === undefined) return;
  const selected = chosen.map((service) => selectedAt(service, event.after));
  const caller = gitCaller(push.organization_id, event.author);
  const requestId = await requestSelected(deps, tx, caller, { environmentId, action: 'DEPLOY', selected });
  await tx.run(store.settleVerdict, [push.id, ids(chosen), requestId]);
}

/** Returns a note for users who rolled the service back and may not expect that a push replaces that release. */
function replacedBy({ is_rolled_back, deployed_commit_id }: Service): string {
  if (!is_rolled_back) return '';
  const commit = deployed_commit_id === null ? '' : ` at ${deployed_commit_id.slice(0, 12)}`;
  return `, which replaces the earlier release${commit} that the service was rolled back to: auto_deploy is on`;
}

/** Returns the selection of a service at a commit. */
function selectedAt({ id, type, terraform_action }: Service, commitId: string | null): Selected {
  const choice = deploySource(type, commitId === null ? {} : { git_commit_id: commitId });
  return { id, type, path: '', choice: terraform_action === 'PLAN' ? { ...choice, terraformAction: 'PLAN' } : choice };
}

function ids(services: readonly Service[]): string[] {
  return services.map(({ id }) => id);
}

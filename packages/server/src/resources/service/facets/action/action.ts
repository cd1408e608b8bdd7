import { AppError } from '@davit/base';
import type { operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Action, DeploymentRequest, JobEvent, RequestedService, TerraformAction } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ServiceDeps } from '../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { openEnvironment } from '../../../environment/index.ts';
import { toPlan } from '../../../shared/engine-views.ts';
import { notFound } from '../../../shared/problems.ts';
import { assertResolvable, currentRelease, storeDerived } from '../../composition.ts';
import { kindOf } from '../../kinds/index.ts';
import type { DeploySource } from '../../kinds/kind.ts';
import { assertStays, isBeingDeleted, lockService, type ServiceReference } from '../../lock.ts';
import type { ComposedRelease } from '../../release.ts';
import type { ServiceFacts } from '../../rows.ts';
import { editLocked, removeService, withEdit } from '../../service.ts';
import { domainOfAnother, findEnvironmentOfService, lockFacts, readRelease, setDeleting } from '../../store.ts';
import { readVisibleFacts } from '../../visible.ts';
import { toServiceStatus, type ServiceStatusRecord } from '../status/record.ts';
import { statusOf } from '../status/status.ts';
import { forEvent, toRequest } from './request.ts';
import { forDiff } from './helm.ts';
import { forTerraform, removalRelease, type Removal } from './terraform.ts';

export type DeployAnswer = Response<(typeof operations)['deployApplication']>;
export type ActionAnswer = Response<(typeof operations)['stopApplication']>;

/**
 * The release to deploy: an earlier one, or the current configuration at a commit (null: the branch's newest commit).
 */
type ReleaseChoice =
  | { readonly releaseId: string }
  | { readonly commitId: (view: DeployedCommit) => string | null; readonly valuesCommitId?: string };
type DeployedCommit = { readonly deployedCommit: { readonly id: string } | null };

interface ActionRequest {
  readonly action: Action;
  readonly choice?: ReleaseChoice;
  /** Body of an edit request that is applied to the service before its deployment. */
  readonly edit?: object;
  /** Runs a Terraform configuration for this action instead of an apply. */
  readonly terraformAction?: TerraformAction;
  /** For Helm charts: only reports the changes and installs nothing. */
  readonly isDiff?: boolean;
  /** For jobs: the event to run. */
  readonly event?: JobEvent | undefined;
  /** Throws if the request does not fit the service. */
  readonly check?: DeploySource['check'];
  /** Returns the plan instead of running it. */
  readonly dryRun: boolean;
}

interface AskedOfDeployment {
  readonly query: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
}

/**
 * Requests a deployment of the branch's newest commit, of `git_commit_id`, or of an earlier release of this service.
 * Fails with:
 * - VALIDATION_FAILED: the request names both a commit and a release.
 * - NOT_FOUND: the release belongs to another service.
 * - RELEASE_NOT_USABLE, BEING_DELETED or BILLING_RESTRICTION.
 */
export async function deployService(
  deps: ServiceDeps,
  caller: Caller,
  reference: ServiceReference,
  { body, query, dryRun }: AskedOfDeployment & { readonly body: unknown },
): Promise<DeployAnswer> {
  const { releaseId, commitId, valuesCommitId, edit, ...further } = kindOf(reference.type).choice(body, query);
  const choice: ReleaseChoice =
    releaseId === null ? { commitId: () => commitId, ...(valuesCommitId !== undefined && { valuesCommitId }) } : { releaseId };
  const answer = await act(deps, caller, reference, { action: 'DEPLOY', choice, dryRun, ...further, ...(edit && { edit }) });
  if (dryRun || reference.type !== 'APPLICATION') return answer;
  return { ...answer, status: 'QUEUED', application_id: reference.id, created_at: new Date().toISOString() };
}

/** Requests a deployment of the deployed commit, with the current configuration. */
export function redeployService(
  deps: ServiceDeps,
  caller: Caller,
  reference: ServiceReference,
  { query, dryRun }: AskedOfDeployment,
): Promise<ActionAnswer> {
  const choice: ReleaseChoice = { commitId: (view) => view.deployedCommit?.id ?? null };
  const { event, check } = kindOf(reference.type).choice(undefined, query);
  return act(deps, caller, reference, { action: 'DEPLOY', choice, dryRun, event, check });
}

/** Requests new instances of the deployed release. Fails with NEVER_DEPLOYED if no release is deployed. */
export function restartService(
  deps: ServiceDeps,
  caller: Caller,
  reference: ServiceReference,
  dryRun: boolean,
): Promise<ActionAnswer> {
  return act(deps, caller, reference, { action: 'RESTART', dryRun });
}

/** Requests a stop of all instances; data stays. Fails with NEVER_DEPLOYED if the service was never deployed. */
export function stopService(
  deps: ServiceDeps,
  caller: Caller,
  reference: ServiceReference,
  dryRun: boolean,
): Promise<ActionAnswer> {
  return act(deps, caller, reference, { action: 'STOP', dryRun });
}

/**
 * Removes the service's resources from its cluster; its record stays. Returns undefined, and requests nothing, if there
 * are none.
 */
export function uninstallService(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  reference: ServiceReference,
  removal: Removal = {},
): Promise<ActionAnswer | undefined> {
  return deps.database.transaction(async (tx) => {
    const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'change' });
    if (!(await deps.engine.isKnown(tx, facts.id))) return undefined;
    await deps.engine.request(tx, toRequest(caller, facts, 'UNINSTALL', await removalRelease(deps, tx, facts, removal)));
    return statusOf(deps, tx, facts);
  });
}

/**
 * Deletes a service. Without resources on a cluster or queued requests it is deleted at once. Otherwise a deployment
 * removes its resources first. Idempotent while that deletion runs.
 */
export async function deleteService(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  { id, type }: ServiceReference,
  removal: Removal = {},
): Promise<undefined> {
  if (removal.resourcesOnly === true) {
    await uninstallService(deps, caller, { id, type }, removal);
    return undefined;
  }
  await deps.database.transaction(async (tx) => {
    const found = await tx.maybe(findEnvironmentOfService, [id, type, caller.organizationId]);
    if (found === undefined) throw notFound('service');
    await openEnvironment(tx, caller, found.environment_id, 'change');
    const facts = await tx.maybe(lockFacts, [id]);
    if (facts === undefined) throw notFound('service');
    if (await isBeingDeleted(deps, tx, facts)) return;
    if (!(await deps.engine.isKnown(tx, id))) {
      await removeService(tx, id);
      return;
    }
    await tx.run(setDeleting, [id, true]);
    await deps.engine.request(tx, toRequest(caller, facts, 'DELETE', await removalRelease(deps, tx, facts, removal)));
  });
  return undefined;
}

async function act(deps: ServiceDeps, caller: Caller, reference: ServiceReference, wanted: ActionRequest): Promise<ActionAnswer> {
  if (wanted.dryRun) return plan(deps, caller, reference, wanted);
  const purpose = wanted.action === 'DEPLOY' ? 'deploy' : 'change';
  return deps.database.transaction(async (tx) => {
    const locked = await lockService(deps, tx, caller, { ...reference, purpose });
    wanted.check?.(locked.spec);
    const { edit } = wanted;
    const facts = edit === undefined ? locked : (await editLocked(deps, tx, caller, { facts: locked, request: edit })).row;
    const composed = await currentRelease(deps, tx, facts);
    const release = await wantedRelease(deps, tx, { facts, composed, choice: wanted.choice });
    if (release !== undefined && 'config' in release) await storeDerived(deps, tx, facts, composed);
    const { deploymentId } = await deps.engine.request(tx, requested(toRequest(caller, facts, wanted.action, release), wanted));
    // The status names the first waiting request, which may be another.
    return { ...(await statusWith(deps, tx, facts, composed)), deployment_request_id: deploymentId };
  });
}

async function plan(
  deps: ServiceDeps,
  caller: Caller,
  reference: ServiceReference,
  wanted: ActionRequest,
): Promise<ActionAnswer> {
  const facts = await readVisibleFacts(deps.database, caller, reference);
  await openEnvironment(deps.database, caller, facts.environment_id, wanted.action === 'DEPLOY' ? 'deploy' : 'change');
  await assertStays(deps, deps.database, facts);
  wanted.check?.(facts.spec);
  const composed = await currentRelease(deps, deps.database, facts);
  const { edit, choice } = wanted;
  // The status below is that of the service as it is: a plan does not edit it.
  const next = edit === undefined ? facts : await withEdit(deps, facts, edit);
  const nextComposed = edit === undefined ? composed : await currentRelease(deps, deps.database, next);
  const release = await wantedRelease(deps, deps.database, { facts: next, composed: nextComposed, choice });
  const planned = await deps.engine.plan(requested(toRequest(caller, facts, wanted.action, release), wanted));
  return { ...(await statusWith(deps, deps.database, facts, composed)), plan: toPlan(planned) };
}

/** Returns the request with the members that only some types of service have. */
function requested(request: DeploymentRequest, { event, terraformAction, isDiff = false }: ActionRequest): DeploymentRequest {
  return forDiff(forTerraform(forEvent(request, event), terraformAction), isDiff);
}

/** Returns the release to deploy. Fails if the current configuration cannot be deployed, see `assertResolvable`. */
async function wantedRelease(
  deps: Needs<'engine'>,
  db: Queryable,
  {
    facts,
    composed,
    choice,
  }: { readonly facts: ServiceFacts; readonly composed: ComposedRelease; readonly choice: ReleaseChoice | undefined },
): Promise<RequestedService['release']> {
  if (choice === undefined) return undefined;
  if ('releaseId' in choice) {
    if ((await db.maybe(readRelease, [choice.releaseId, facts.id])) === undefined) throw notFound('release of this service');
    const lost = await db.maybe(domainOfAnother, [choice.releaseId, facts.id]);
    if (lost === undefined) return { releaseId: choice.releaseId };
    throw new AppError({
      code: 'RELEASE_NOT_USABLE',
      message: `The release answers under ${lost.domain}, which belongs to another service now.`,
    });
  }
  assertResolvable(facts, composed);
  const [view] = await deps.engine.services(db, [facts.id]);
  const { valuesCommitId } = choice;
  const commitId = choice.commitId(view ?? { deployedCommit: null });
  return { config: composed.config, commitId, ...(valuesCommitId !== undefined && { valuesCommitId }) };
}

async function statusWith(
  deps: Needs<'engine'>,
  db: Queryable,
  facts: ServiceFacts,
  composed: ComposedRelease,
): Promise<ServiceStatusRecord> {
  const [view] = await deps.engine.services(db, [facts.id]);
  if (view === undefined) throw new Error(`the engine has no view of service ${facts.id}`);
  return toServiceStatus(view, deps.engine.hash(composed.config));
}

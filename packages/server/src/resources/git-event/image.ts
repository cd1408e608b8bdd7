import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { GitEventDeps } from './deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { refuseClone } from '../environment/index.ts';
import { readOrganization } from '../organization/index.ts';
import { deploySource, readServiceStatus, requestSelected } from '../service/index.ts';
import { deployPreview } from './preview.ts';
import * as previews from './preview-store.ts';
import { whyNotNow } from './push.ts';
import * as store from './store.ts';
import { byEnvironment } from './verdict.ts';

type Request = Body<(typeof operations)['autoDeployContainerEnvironments']>;
type Answer = Response<(typeof operations)['autoDeployContainerEnvironments']>;
type Verdict = Answer['verdicts'][number];
type Service = store.ImageServiceRow;

/** A new tag of an image, for the containers or jobs of an organization. */
export interface NewTag {
  readonly organizationId: string;
  readonly type: 'CONTAINER' | 'JOB';
  readonly request: Request;
}

/**
 * Deploys the tag to all services that run the image and have auto_deploy, with one deployment per environment. The tag
 * is also stored in the records of these services. Fails with NOT_FOUND if there is no such service; the error lists
 * the services that were ignored, with the reasons.
 */
export async function deployTag(deps: GitEventDeps, caller: Caller, { organizationId, type, request }: NewTag): Promise<Answer> {
  const services = await servicesOf(deps, caller, { organizationId, type, request });
  const views = await deps.engine.services(
    deps.database,
    services.map(({ id }) => id),
  );
  const states = new Map(views.map((view) => [view.serviceId, view]));
  const reported = services.flatMap((service): Verdict[] => {
    const why = service.auto_deploy
      ? (whyNotNow(states.get(service.id)) ?? (service.is_skipped ? 'it is skipped in its stage' : null))
      : 'auto_deploy is off';
    return why === null ? [] : [toVerdict(service, 'IGNORED', why)];
  });
  const internal: Caller = { ...caller, origin: 'SERVICE_INTERNAL' };
  const failures: AppError[] = [];
  for (const group of byEnvironment(without(services, reported)).values()) {
    const outcome = await attempt(() =>
      deps.database.transaction((tx) => deployGroup(deps, tx, internal, { services: group, tag: request.tag })),
    );
    if (outcome !== null) failures.push(outcome);
    const reason = outcome?.message ?? `the tag is now ${request.tag}`;
    reported.push(...group.map((service) => toVerdict(service, outcome === null ? 'DEPLOYED' : 'FAILED', reason)));
  }
  return answer(deps, caller, { type, request, reported, failures });
}

/**
 * Creates a preview of each environment that has a container of the image with auto_preview. An existing preview is
 * deployed again.
 */
export async function previewTag(deps: GitEventDeps, caller: Caller, organizationId: string, request: Request): Promise<Answer> {
  const services = await servicesOf(deps, caller, { organizationId, type: 'CONTAINER', request });
  const reported = services.flatMap((service): Verdict[] => {
    const why = service.is_preview ? 'it is in a preview' : service.auto_preview ? null : 'auto_preview is off';
    return why === null ? [] : [toVerdict(service, 'IGNORED', why)];
  });
  const failures: AppError[] = [];
  for (const [environmentId, group] of byEnvironment(without(services, reported))) {
    const outcome = await attempt(() => previewGroup(deps, caller, { organizationId, environmentId, services: group, request }));
    if (outcome !== null) failures.push(outcome);
    const reason = outcome?.message ?? `its environment has a preview with the tag ${request.tag}`;
    reported.push(...group.map((service) => toVerdict(service, outcome === null ? 'PREVIEWED' : 'FAILED', reason)));
  }
  return answer(deps, caller, { type: 'CONTAINER', request, reported, failures });
}

async function servicesOf(
  deps: Needs<'database'>,
  caller: Caller,
  { organizationId, type, request }: NewTag,
): Promise<readonly Service[]> {
  await readOrganization(deps, caller, organizationId);
  return deps.database.many(store.imageServices, [organizationId, type, request.image_name]);
}

function without(services: readonly Service[], reported: readonly Verdict[]): Service[] {
  const ignored = new Set(reported.map(({ service_id }) => service_id));
  return services.filter(({ id }) => !ignored.has(id));
}

async function deployGroup(
  deps: GitEventDeps,
  tx: Queryable,
  caller: Caller,
  { services, tag }: { readonly services: readonly Service[]; readonly tag: string },
): Promise<void> {
  const environmentId = services[0]?.environment_id ?? '';
  const selected = services.map(({ id, type }) => ({ id, type, path: 'tag', choice: deploySource(type, { image_tag: tag }) }));
  await requestSelected(deps, tx, caller, { environmentId, action: 'DEPLOY', selected });
}

interface PreviewGroup {
  readonly organizationId: string;
  readonly environmentId: string;
  readonly services: readonly Service[];
  readonly request: Request;
}

async function previewGroup(
  deps: GitEventDeps,
  caller: Caller,
  { organizationId, environmentId, services, request: { image_name, tag } }: PreviewGroup,
): Promise<void> {
  const repository = `image ${image_name}`;
  const open = await deps.database.many(previews.previewsOf, [organizationId, repository, tag]);
  const former = open.find((preview) => preview.source_environment_id === environmentId) ?? null;
  const image = image_name.split('/').at(-1) ?? '';
  const environment = services[0]?.environment_name ?? '';
  const name = former?.environment_name ?? `${image.slice(0, 60)} ${tag.slice(0, 60)}: ${environment.slice(0, 120)}`;
  const ids = { organizationId, environmentId, repository, request: tag, name };
  const copies = services.map(({ id }) => ({ id, patch: { tag, auto_deploy: false, auto_preview: false }, commitId: null }));
  await refuseClone({ name }, () =>
    deps.database.transaction((tx) => deployPreview(deps, tx, caller, { source: ids, services: copies, former })),
  );
}

/** Returns the error with which the action was refused. Null if the action succeeded. */
async function attempt(action: () => Promise<unknown>): Promise<AppError | null> {
  try {
    await action();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function toVerdict(service: Service, verdict: Verdict['verdict'], reason: string): Verdict {
  const { id, name, environment_id, environment_name } = service;
  return { service_id: id, service_name: name, environment_id, environment_name, verdict, reason };
}

interface Outcome {
  readonly type: 'CONTAINER' | 'JOB';
  readonly request: Request;
  readonly reported: readonly Verdict[];
  readonly failures: readonly AppError[];
}

async function answer(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  { type, request, reported, failures }: Outcome,
): Promise<Answer> {
  const first = reported.find(({ verdict }) => verdict === 'DEPLOYED' || verdict === 'PREVIEWED');
  if (first !== undefined) {
    return { ...(await readServiceStatus(deps, caller, { id: first.service_id, type })), verdicts: [...reported] };
  }
  const [failure] = failures;
  if (failure !== undefined) throw failure;
  const noun = type === 'JOB' ? 'job' : 'container';
  const why = reported.map(({ service_name, environment_name, reason }) => `${service_name} in ${environment_name}: ${reason}`);
  const rest = why.length === 0 ? 'none uses it' : why.slice(0, 10).join('; ');
  const message = `There is no ${noun} of the image ${JSON.stringify(request.image_name)} that qualifies: ${rest}.`;
  throw new AppError({ code: 'NOT_FOUND', message });
}

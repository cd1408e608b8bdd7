import { isUuid, type ErrorDetail } from '@davit/base';
import { streamKinds, type StreamKind } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Streams } from './streams.ts';
import type { StreamCall, Stream } from '../../http/call.ts';
import { notFound } from '../../auth/authorize.ts';
import { canSee } from '../../auth/caller.ts';
import { validationFailed } from '../../http/validation.ts';
import { decodePosition, type Position } from './position.ts';
import * as store from './store.ts';
import type { Watch } from './watch.ts';

/** Log lines are sent only where they are requested, as they are the majority of events. */
const withoutLogs: readonly StreamKind[] = streamKinds.filter((kind) => kind !== 'DEPLOYMENT_LOG' && kind !== 'SERVICE_LOG');
const ofDeployment: readonly StreamKind[] = ['QUEUE', 'DEPLOYMENT', 'SERVICE_STATE', 'STEP', 'DEPLOYMENT_LOG'];
const defaultTail = 100;

export interface StreamDeps extends Needs<'database' | 'engine'> {
  readonly streams: Streams;
}

/** Streams the events of an organization, or a selection of them. */
export async function streamOrganization(deps: StreamDeps, call: StreamCall): Promise<Stream> {
  const organizationId = call.params['organizationId'] ?? '';
  const { kinds, projectId } = call.query;
  const problems: ErrorDetail[] = [];
  const environmentIds = idsOf(call.query['environmentId'], 'environmentId', problems);
  const serviceIds = idsOf(call.query['serviceId'], 'serviceId', problems);
  if (problems.length > 0) throw validationFailed(problems);
  const ids = await deps.database.maybe(store.readOrganizationId, [organizationId]);
  if (ids === undefined || !canSee(call.caller, organizationId)) throw notFound('organization');
  const watch: Watch = {
    organizationId,
    kinds: new Set(typeof kinds === 'string' ? streamKinds.filter((kind) => kinds.split(',').includes(kind)) : withoutLogs),
    ...(typeof projectId === 'string' ? { projectId: projectId.toLowerCase() } : {}),
    ...(environmentIds === undefined ? {} : { environmentIds }),
    ...(serviceIds === undefined ? {} : { serviceIds }),
  };
  return open(deps, call, watch);
}

/** Streams a request and its deployment until the deployment ends. */
export async function streamDeployment(deps: StreamDeps, call: StreamCall): Promise<Stream> {
  const deploymentId = call.params['deploymentRequestId'] ?? '';
  const ids = await deps.engine.environmentOfRequest(deps.database, deploymentId);
  const environment = ids === null ? undefined : await deps.database.maybe(store.environmentFacts, [ids.environmentId]);
  if (ids === null || environment === undefined || !canSee(call.caller, ids.organizationId)) {
    throw notFound('deployment request');
  }
  const { organizationId, environmentId } = ids;
  const log = { kind: 'DEPLOYMENT_LOG', environment: { projectId: environment.project_id, environmentId } } as const;
  return open(deps, call, { organizationId, kinds: new Set(ofDeployment), deploymentId, log });
}

/** Streams the output of a service. */
export async function streamServiceLog(deps: StreamDeps, call: StreamCall): Promise<Stream> {
  const serviceId = call.params['serviceId'] ?? '';
  const service = await deps.database.maybe(store.readServiceIds, [serviceId]);
  if (service === undefined || !canSee(call.caller, service.organization_id)) throw notFound('service');
  const { tail } = call.query;
  const environment = { projectId: service.project_id, environmentId: service.environment_id };
  const log = { kind: 'SERVICE_LOG', environment, tail: typeof tail === 'number' ? tail : defaultTail } as const;
  const organizationId = service.organization_id;
  return open(deps, call, { organizationId, kinds: new Set<StreamKind>(['SERVICE_LOG']), serviceIds: [serviceId], log });
}

function open(deps: StreamDeps, { caller, admit, lastEventId }: StreamCall, watch: Watch): Stream {
  return deps.streams.open({ watch, caller, admit, position: lastEventId === null ? null : positionOf(lastEventId, watch) });
}

function positionOf(id: string, { log }: Watch): Position {
  const position = decodePosition(id);
  // A position within old log lines is valid only for a stream that begins with a log.
  if (position !== undefined && (position.line === undefined || log !== undefined)) return position;
  throw validationFailed([
    { path: 'Last-Event-ID', message: 'must be the id of an event of this stream; leave it out to start from now' },
  ]);
}

function idsOf(value: unknown, path: string, problems: ErrorDetail[]): string[] | undefined {
  if (typeof value !== 'string') return undefined;
  const ids = value.toLowerCase().split(',');
  if (!ids.every(isUuid)) problems.push({ path, message: 'must be uuids, separated by commas' });
  return ids;
}

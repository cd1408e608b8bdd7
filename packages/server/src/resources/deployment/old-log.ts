import type { operations, Response } from '@davit/contract';
import type * as engine from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readEnvironment } from '../environment/index.ts';

type Log = Response<(typeof operations)['listEnvironmentLog']>;
type Line = Log['results'][number];
type State = NonNullable<Line['state']>;

/** Returns the log of the latest deployment that left the queue, in the format of the old API. */
export async function readOldLog(deps: Needs<'database' | 'engine'>, caller: Caller, environmentId: string): Promise<Log> {
  const environment = await readEnvironment(deps, caller, environmentId);
  const [last] = await deps.engine.environmentHistory(deps.database, environmentId, { page: 1, pageSize: 1 });
  if (last === undefined) return { results: [] };
  const { executionId, lines } = await deps.engine.deploymentLog(deps.database, environmentId, last.executionId);
  const isOver = last.status !== 'RUNNING';
  return {
    results: lines.map((line, index) => ({
      id: numberedId(line.number),
      created_at: line.at,
      scope: scopeOf(line, environment),
      state: stateOf(last, line, isOver && index === lines.length - 1),
      message: line.message,
      ...(executionId === null ? {} : { execution_id: executionId }),
      ...(line.failure === null ? {} : { hint: line.failure.hint }),
    })),
  };
}

/** Returns a UUID (version 8, RFC 9562) that ends in the number. Lines are numbered within the installation. */
function numberedId(number: number): string {
  return `00000000-0000-8000-8000-${number.toString(16).padStart(12, '0')}`;
}

function scopeOf({ service }: engine.DeploymentLogLine, environment: { id: string; name: string }): NonNullable<Line['scope']> {
  if (service === null) return { type: 'ENVIRONMENT', name: environment.name, id: environment.id };
  return { type: service.type === 'DATABASE' ? 'DATABASE' : 'APPLICATION', name: service.name, id: service.id };
}

const words = {
  DEPLOY: { ongoing: 'DEPLOYMENT_IN_PROGRESS', done: 'DEPLOYED', failed: 'DEPLOYMENT_ERROR' },
  RESTART: { ongoing: 'DEPLOYMENT_IN_PROGRESS', done: 'DEPLOYED', failed: 'DEPLOYMENT_ERROR' },
  STOP: { ongoing: 'PAUSE_IN_PROGRESS', done: 'PAUSED', failed: 'PAUSE_ERROR' },
  DELETE: { ongoing: 'DELETE_IN_PROGRESS', done: 'DELETED', failed: 'DELETE_ERROR' },
  UNINSTALL: { ongoing: 'DELETE_IN_PROGRESS', done: 'DELETED', failed: 'DELETE_ERROR' },
} as const satisfies Record<engine.Action, Record<'ongoing' | 'done' | 'failed', State>>;

/** The last line of a finished deployment carries the final state. */
function stateOf(view: engine.DeploymentView, line: engine.DeploymentLogLine, isEnd: boolean): State {
  const word = words[view.action];
  if (line.failure !== null) return word.failed;
  if (!isEnd) return view.canceling ? 'CANCELING' : word.ongoing;
  if (view.status === 'SUCCEEDED') return word.done;
  return view.status === 'FAILED' ? word.failed : 'CANCELED';
}

import type { Queryable } from '@davit/db';
import { levelOf } from './log-archive/level.ts';
import type { DeploymentLogLine, EnginePort, LogLines, ServiceLogLine } from './port.ts';
import * as logs from './store/logs.ts';
import { executionId } from './view.ts';

/** See `EnginePort.deploymentLog`. */
export async function readDeploymentLog(
  db: Queryable,
  environmentId: string,
  wanted: string | null,
): ReturnType<EnginePort['deploymentLog']> {
  const number = wanted === null ? null : executionNumber(environmentId, wanted);
  if (number === undefined) return { executionId: null, lines: [] };
  const found = await db.maybe(logs.findExecution, [environmentId, number]);
  if (found === undefined) return { executionId: null, lines: [] };
  const rows = await db.many(logs.readDeploymentLog, [found.id]);
  return {
    executionId: executionId(environmentId, found.execution_number),
    lines: rows.map(toDeploymentLine),
  };
}

/** See `EnginePort.serviceLog`. */
export async function readServiceLog(db: Queryable, serviceId: string, tail: number): Promise<ServiceLogLine[]> {
  return (await db.many(logs.readServiceLog, [serviceId, tail])).map(toServiceLine);
}

/** See `EnginePort.deploymentLines`. */
export async function readDeploymentLines(db: Queryable, id: string, which: LogLines): Promise<DeploymentLogLine[]> {
  const rows =
    'numbers' in which
      ? db.many(logs.deploymentLinesByIds, [id, which.numbers])
      : db.many(logs.deploymentLinesAfter, [id, which.after, which.limit]);
  return (await rows).map(toDeploymentLine);
}

/** See `EnginePort.serviceLines`. */
export async function readServiceLines(db: Queryable, id: string, which: LogLines): Promise<ServiceLogLine[]> {
  const rows =
    'numbers' in which
      ? db.many(logs.serviceLinesByIds, [id, which.numbers])
      : db.many(logs.serviceLinesAfter, [id, which.after, which.limit]);
  return (await rows).map(toServiceLine);
}

/** See `EnginePort.serviceLinesStart`. */
export async function serviceLinesStart(
  db: Queryable,
  id: string,
  tail: number,
  except: readonly number[],
): ReturnType<EnginePort['serviceLinesStart']> {
  return (await db.one(logs.serviceLinesStart, [id, tail, except])).number;
}

function toDeploymentLine(row: logs.DeploymentLogRow): DeploymentLogLine {
  return {
    number: row.id,
    at: row.at,
    level: row.level,
    step: row.step,
    message: row.message,
    service: row.service_id === null ? null : { id: row.service_id, name: row.service_name ?? '', type: row.service_type ?? '' },
    stage: row.stage_name === null ? null : { id: row.stage_id, name: row.stage_name },
    failure: row.error,
  };
}

function toServiceLine(row: logs.ServiceLogRow): ServiceLogLine {
  const { number, id, at, message, instance } = row;
  return { number, id, at, message, instance, releaseId: row.release_id, level: levelOf(message) };
}

/**
 * Returns the counter of an execution id, or the counter given alone; undefined if it names no execution of this
 * environment.
 */
function executionNumber(environmentId: string, wanted: string): number | undefined {
  const counter = wanted.startsWith(`${environmentId}-`) ? wanted.slice(environmentId.length + 1) : wanted;
  return /^\d{1,9}$/.test(counter) ? Number(counter) : undefined;
}

import { AppError, messageOf } from '@davit/base';
import type { Queryable } from '@davit/db';
import { DriverError } from '@davit/drivers';
import type { EngineParts } from '../../shared/parts.ts';
import type { EnginePort } from '../../port.ts';
import { readRuntimes } from '../../store/requests.ts';
import { refOfRuntime } from './ref.ts';

const withinMilliseconds = 10_000;

/** See `EnginePort.chartServices`. */
export async function readChartServices(
  { drivers, clusters, settings }: Pick<EngineParts, 'drivers' | 'clusters' | 'settings'>,
  db: Queryable,
  serviceId: string,
): ReturnType<EnginePort['chartServices']> {
  const [runtime] = await db.many(readRuntimes, [[serviceId]]);
  if (runtime === undefined || runtime.desired === 'NONE') return [];
  const signal = AbortSignal.timeout(withinMilliseconds);
  try {
    await clusters.know(runtime.driver);
    const { charts } = drivers[runtime.driver]?.cluster ?? {};
    if (charts === undefined) return [];
    return await charts.services(refOfRuntime({ settings }, runtime), signal);
  } catch (error) {
    if (!(error instanceof DriverError) && !signal.aborted) throw error;
    const reason = messageOf(error);
    throw new AppError({
      code: 'CLUSTER_UNREACHABLE',
      message: `The Services of the chart could not be read from the cluster: ${reason}`,
      cause: error,
    });
  }
}

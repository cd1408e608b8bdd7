import type { Queryable } from '@davit/db';
import type { EngineParts } from '../parts.ts';
import type { EnginePort } from '../port.ts';
import { readRuntimes } from '../store/requests.ts';
import { placeOfRuntime } from './place.ts';

const withinMilliseconds = 10_000;

/** See `EnginePort.chartServices`. */
export async function readChartServices(
  { drivers, clusters, settings }: Pick<EngineParts, 'drivers' | 'clusters' | 'settings'>,
  db: Queryable,
  serviceId: string,
): ReturnType<EnginePort['chartServices']> {
  const [runtime] = await db.many(readRuntimes, [[serviceId]]);
  if (runtime === undefined || runtime.desired === 'NONE') return [];
  await clusters.know(runtime.driver);
  const { charts } = drivers[runtime.driver]?.cluster ?? {};
  if (charts === undefined) return [];
  return charts.services(placeOfRuntime(settings.installation, runtime), AbortSignal.timeout(withinMilliseconds));
}

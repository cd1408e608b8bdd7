import type { EnginePort } from '@davit/engine/port';

/**
 * Returns the description of a driver's cluster, which the engine caches for some seconds. Null if the cluster is
 * unreachable.
 */
export function describeCluster(engine: EnginePort, driver: string): ReturnType<EnginePort['describeCluster']> {
  return engine.describeCluster(driver);
}

import type { EnginePort } from '@davit/engine/port';

/** What a driver's cluster is, as the engine remembers it for some seconds; null when it does not answer. */
export function describeCluster(engine: EnginePort, driver: string): ReturnType<EnginePort['describeCluster']> {
  return engine.describeCluster(driver);
}

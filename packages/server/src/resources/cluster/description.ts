import type { EnginePort } from '@davit/engine/port';

type Description = Awaited<ReturnType<EnginePort['describeCluster']>>;

interface Remembered {
  readonly until: number;
  readonly description: Promise<Description>;
}

// What a machine has changes rarely; asking it costs a call to its engine, up to 5 s when nobody answers there.
const rememberMilliseconds = 10_000;

const remembered = new WeakMap<EnginePort, Map<string, Remembered>>();

/** What a driver's cluster is, at most ten seconds old; null when it does not answer. */
export function describeCluster(engine: EnginePort, driver: string): Promise<Description> {
  let byDriver = remembered.get(engine);
  if (byDriver === undefined) remembered.set(engine, (byDriver = new Map()));
  const known = byDriver.get(driver);
  if (known !== undefined && known.until > Date.now()) return known.description;
  const description = engine.describeCluster(driver);
  byDriver.set(driver, { until: Date.now() + rememberMilliseconds, description });
  return description;
}

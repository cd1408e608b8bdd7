import type { EnginePort } from '@davit/engine/port';
import { describeCluster } from '../cluster/index.ts';
import type { Caps } from './spec.ts';

interface Known {
  caps: Caps | null;
  askedAt: number;
}

const freshMilliseconds = 30_000;
const known = new WeakMap<EnginePort, Map<string, Known>>();

/**
 * Returns the known limits of a cluster, or null if the cluster has never responded. Waits for the cluster only the
 * first time: reading a record must not hang because a container engine hangs.
 */
export async function capsOf(engine: EnginePort, driver: string): Promise<Caps | null> {
  let byDriver = known.get(engine);
  if (byDriver === undefined) known.set(engine, (byDriver = new Map()));
  const entry = byDriver.get(driver);
  if (entry === undefined) {
    const caps = await ask(engine, driver);
    byDriver.set(driver, { caps, askedAt: Date.now() });
    return caps;
  }
  if (Date.now() - entry.askedAt > freshMilliseconds) {
    entry.askedAt = Date.now();
    void ask(engine, driver).then((caps) => (entry.caps = caps ?? entry.caps));
  }
  return entry.caps;
}

async function ask(engine: EnginePort, driver: string): Promise<Caps | null> {
  try {
    const description = await describeCluster(engine, driver);
    return description === null ? null : { cpuMillicores: description.cpuMillicores, memoryMiB: description.memoryMiB };
  } catch {
    // Callers must not fail because the caps are unknown.
    return null;
  }
}

import type { InstanceEvent } from '../driver.ts';
import type { Instance } from '../workload.ts';
import { httpProbe, never, type Suite, type Test, until } from './setup.ts';

/** Tests instances that exit, are revived, probed, watched and observed. */
export function lifeTests(test: Test, expect: Suite['expect']): void {
  test('shows an instance that ended with its exit code, and revives it', async (setup) => {
    const workload = setup.workload('EXITS', { readyTimeoutSeconds: 3 });
    await setup.driver.start(workload, setup.context());
    await expect(setup.driver.awaitReady(workload, setup.context())).rejects.toThrow();
    let ended: Instance | undefined;
    // On a cluster that restarts it itself, the instance runs for moments in between.
    await until(async () => {
      [ended] = await setup.driver.observe({ rollout: workload.rollout }, never());
      return ended?.state === 'EXITED';
    });
    expect(ended).toMatchObject({ state: 'EXITED', endpoints: [], exit: { code: 3, outOfMemory: false } });
    const before = ended?.startedAt ?? '';
    await setup.driver.revive(ended?.id ?? '', setup.context());
    const [revived] = await setup.driver.observe({ rollout: workload.rollout }, never());
    expect(revived?.id).toBe(ended?.id);
    expect(Date.parse(revived?.startedAt ?? '')).toBeGreaterThan(Date.parse(before));
  });

  test('restarts an instance that runs when it is revived', async (setup) => {
    const workload = setup.workload('SERVES');
    const [id = ''] = await setup.run(workload);
    const [before] = await setup.driver.observe({ rollout: workload.rollout }, never());
    await setup.driver.revive(id, setup.context());
    const [after] = await setup.driver.awaitReady(workload, setup.context());
    expect(after?.id).toBe(id);
    expect(Date.parse(after?.startedAt ?? '')).toBeGreaterThan(Date.parse(before?.startedAt ?? ''));
  });

  test('answers a probe with null, or with what was seen', async (setup) => {
    const workload = setup.workload('SERVES', { readiness: httpProbe('/'), liveness: httpProbe('/missing') });
    await setup.driver.start(workload, setup.context());
    const [instance] = await setup.driver.awaitReady(workload, setup.context());
    if (!instance) throw new Error('no instance');
    expect(await setup.driver.probe(workload, instance, 'readiness', never())).toBeNull();
    const live = await setup.driver.probe(workload, instance, 'liveness', never());
    if (setup.traits.restartsOnFailedLiveness !== true) expect(live).toContain('404');
    else expect(live).toBeNull();
  });

  test('tells of starts, ends and removals while it is watched', async (setup) => {
    const events: InstanceEvent[] = [];
    const stop = new AbortController();
    const watching = setup.driver.watch((event) => events.push(event), stop.signal);
    try {
      const workload = setup.workload('SERVES');
      const [id] = await setup.run(workload);
      await setup.driver.retire({ rollout: workload.rollout }, 1, setup.context());
      const service = workload.owner.service;
      await until(() => events.some(({ type, instance }) => type === 'REMOVED' && instance === id));
      for (const type of ['STARTED', 'DIED', 'REMOVED'] as const) expect(events).toContainEqual({ type, service, instance: id });
    } finally {
      stop.abort();
      await watching;
    }
  });

  test('keeps an instance reachable while its neighbours come and go', async (setup) => {
    const serving = setup.workload('SERVES');
    await setup.run(serving);
    const [instance] = await setup.driver.observe({ service: serving.owner.service }, never());
    const [endpoint] = instance?.endpoints ?? [];
    if (endpoint === undefined) throw new Error('the instance has no endpoint');
    const url = `http://${endpoint.host}:${endpoint.port}/`;
    await answers(url, 1_500);
    const neighbours = setup.workload('SERVES', { instances: 6 });
    await setup.run(neighbours);
    await answers(url, 1_500);
    await setup.driver.retire({ service: neighbours.owner.service }, 1, setup.context());
    await answers(url, 1_500);
  });
}

/** Tests what the cluster restarts itself, and what it leaves as it exited. */
export function endTests(test: Test, expect: Suite['expect']): void {
  test('restarts an instance whose liveness probe fails, or leaves that to whoever asks', async (setup) => {
    if (setup.traits.restartsOnFailedLiveness !== true) return;
    const workload = setup.workload('SERVES', { liveness: httpProbe('/missing') });
    await setup.run(workload);
    const observe = () => setup.driver.observe({ rollout: workload.rollout }, never());
    const [before] = await observe();
    await until(async () => {
      const [now] = await observe();
      return now?.startedAt !== before?.startedAt;
    });
  });

  test('runs once what ends by itself, and keeps how it ended until it is retired', async (setup) => {
    const workload = setup.workload('EXITS', { ports: [], runsOnce: true });
    await setup.driver.start(workload, setup.context());
    const observe = () => setup.driver.observe({ rollout: workload.rollout }, never());
    await until(async () => (await observe()).some(({ state }) => state === 'EXITED'));
    await setup.driver.start({ ...workload, instances: 2, firstInstance: 1 }, setup.context());
    await until(async () => (await observe()).filter(({ state }) => state === 'EXITED').length === 2);
    const attempts = await observe();
    expect(attempts.map(({ index, exit }) => ({ index, code: exit?.code }))).toEqual([
      { index: 0, code: 3 },
      { index: 1, code: 3 },
    ]);
    await setup.driver.retire({ rollout: workload.rollout }, 1, setup.context());
    expect(await observe()).toEqual([]);
  });
}

/**
 * Sends requests for this long, each over a new connection. Throws if a response does not arrive. Use more than a
 * second: for that long a kernel does not change again what it has learned of a neighbor.
 */
async function answers(url: string, milliseconds: number): Promise<void> {
  const until = Date.now() + milliseconds;
  while (Date.now() < until) {
    // A lost segment is retransmitted within a second.
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000), headers: { connection: 'close' } });
    await response.text();
  }
}

import type { InstanceEvent } from '../driver.ts';
import type { Instance } from '../workload.ts';
import { httpProbe, never, type Suite, type Test, until } from './stage.ts';

/** Tests instances that exit, are revived, probed, watched and observed. */
export function lifeTests(test: Test, expect: Suite['expect']): void {
  test('shows an instance that ended with its exit code, and revives it', async (stage) => {
    const workload = stage.workload('EXITS', { readyTimeoutSeconds: 3 });
    await stage.driver.start(workload, stage.context());
    await expect(stage.driver.awaitReady(workload, stage.context())).rejects.toThrow();
    let ended: Instance | undefined;
    // On a cluster that restarts it itself, the instance runs for moments in between.
    await until(async () => {
      [ended] = await stage.driver.observe({ rollout: workload.rollout }, never());
      return ended?.state === 'EXITED';
    });
    expect(ended).toMatchObject({ state: 'EXITED', endpoints: [], exit: { code: 3, outOfMemory: false } });
    const before = ended?.startedAt ?? '';
    await stage.driver.revive(ended?.id ?? '', stage.context());
    const [revived] = await stage.driver.observe({ rollout: workload.rollout }, never());
    expect(revived?.id).toBe(ended?.id);
    expect(Date.parse(revived?.startedAt ?? '')).toBeGreaterThan(Date.parse(before));
  });

  test('restarts an instance that runs when it is revived', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    const [before] = await stage.driver.observe({ rollout: workload.rollout }, never());
    await stage.driver.revive(id, stage.context());
    const [after] = await stage.driver.awaitReady(workload, stage.context());
    expect(after?.id).toBe(id);
    expect(Date.parse(after?.startedAt ?? '')).toBeGreaterThan(Date.parse(before?.startedAt ?? ''));
  });

  test('answers a probe with null, or with what was seen', async (stage) => {
    const workload = stage.workload('SERVES', { readiness: httpProbe('/'), liveness: httpProbe('/missing') });
    await stage.driver.start(workload, stage.context());
    const [instance] = await stage.driver.awaitReady(workload, stage.context());
    if (!instance) throw new Error('no instance');
    expect(await stage.driver.probe(workload, instance, 'readiness', never())).toBeNull();
    const live = await stage.driver.probe(workload, instance, 'liveness', never());
    if (stage.traits.restartsUnlive !== true) expect(live).toContain('404');
    else expect(live).toBeNull();
  });

  test('tells of starts, ends and removals while it is watched', async (stage) => {
    const events: InstanceEvent[] = [];
    const stop = new AbortController();
    const watching = stage.driver.watch((event) => events.push(event), stop.signal);
    try {
      const workload = stage.workload('SERVES');
      const [id] = await stage.run(workload);
      await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
      const service = workload.owner.service;
      await until(() => events.some(({ type, instance }) => type === 'REMOVED' && instance === id));
      for (const type of ['STARTED', 'DIED', 'REMOVED'] as const) expect(events).toContainEqual({ type, service, instance: id });
    } finally {
      stop.abort();
      await watching;
    }
  });

  test('keeps an instance reachable while its neighbours come and go', async (stage) => {
    const serving = stage.workload('SERVES');
    await stage.run(serving);
    const [instance] = await stage.driver.observe({ service: serving.owner.service }, never());
    const [endpoint] = instance?.endpoints ?? [];
    if (endpoint === undefined) throw new Error('the instance has no endpoint');
    const url = `http://${endpoint.host}:${endpoint.port}/`;
    await answers(url, 1_500);
    const neighbours = stage.workload('SERVES', { instances: 6 });
    await stage.run(neighbours);
    await answers(url, 1_500);
    await stage.driver.retire({ service: neighbours.owner.service }, 1, stage.context());
    await answers(url, 1_500);
  });
}

/** Tests what the cluster restarts itself, and what it leaves as it exited. */
export function endTests(test: Test, expect: Suite['expect']): void {
  test('restarts an instance whose liveness probe fails, or leaves that to whoever asks', async (stage) => {
    if (stage.traits.restartsUnlive !== true) return;
    const workload = stage.workload('SERVES', { liveness: httpProbe('/missing') });
    await stage.run(workload);
    const observe = () => stage.driver.observe({ rollout: workload.rollout }, never());
    const [before] = await observe();
    await until(async () => {
      const [now] = await observe();
      return now?.startedAt !== before?.startedAt;
    });
  });

  test('runs once what ends by itself, and keeps how it ended until it is retired', async (stage) => {
    const workload = stage.workload('EXITS', { ports: [], runsOnce: true });
    await stage.driver.start(workload, stage.context());
    const observe = () => stage.driver.observe({ rollout: workload.rollout }, never());
    await until(async () => (await observe()).some(({ state }) => state === 'EXITED'));
    await stage.driver.start({ ...workload, instances: 2, firstInstance: 1 }, stage.context());
    await until(async () => (await observe()).filter(({ state }) => state === 'EXITED').length === 2);
    const attempts = await observe();
    expect(attempts.map(({ index, exit }) => ({ index, code: exit?.code }))).toEqual([
      { index: 0, code: 3 },
      { index: 1, code: 3 },
    ]);
    await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
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

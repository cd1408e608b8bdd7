import { randomUUID } from 'node:crypto';
import { type ConformanceSubject, never, type Suite, type Test } from './stage.ts';

/** Tests what `start` creates, and that it creates nothing twice. */
export function startTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('describes the engine and how large it is', async ({ driver }) => {
    const description = await driver.describe(never());
    expect(description.engine).not.toBe('');
    expect(description.cpuMillicores).toBeGreaterThan(0);
    expect(description.memoryMiB).toBeGreaterThan(0);
    await driver.ping(never());
  });

  test('starts as many instances as asked, and tells where their ports are reached', async (stage) => {
    const workload = stage.workload('SERVES', { instances: 2 });
    await stage.driver.start(workload, stage.context());
    const ready = await stage.driver.awaitReady(workload, stage.context());
    expect(ready.map(({ index, state, rollout }) => ({ index, state, rollout }))).toEqual([
      { index: 0, state: 'RUNNING', rollout: workload.rollout },
      { index: 1, state: 'RUNNING', rollout: workload.rollout },
    ]);
    for (const instance of ready) {
      expect(instance).toMatchObject({ release: workload.release, service: workload.owner.service, exit: null });
      expect(instance.endpoints.map(({ internalPort }) => internalPort)).toEqual([8080]);
    }
    expect(await stage.driver.observe({ rollout: workload.rollout }, never())).toEqual(ready);
  });

  test('adopts on a second start what the first one made', async (stage) => {
    const workload = stage.workload('SERVES', { instances: 2 });
    const first = await stage.run(workload);
    const second = await stage.run(workload);
    expect(second).toEqual(first);
    expect(await stage.ids({ service: workload.owner.service })).toEqual(first);
  });

  test('makes nothing twice when two start the same rollout at once', async (stage) => {
    const workload = stage.workload('SERVES', { instances: 2 });
    await Promise.all([stage.driver.start(workload, stage.context()), stage.driver.start(workload, stage.context())]);
    expect(await stage.run(workload)).toHaveLength(2);
    expect(await stage.ids({ service: workload.owner.service })).toHaveLength(2);
  });

  test('leaves instances of other rollouts alone', async (stage) => {
    const old = stage.workload('SERVES');
    const [kept] = await stage.run(old);
    const next = { ...old, rollout: randomUUID(), release: randomUUID() };
    const [made] = await stage.run(next);
    expect(new Set(await stage.ids({ service: old.owner.service }))).toEqual(new Set([kept, made]));
  });

  test('does not show one installation what another one made', async (stage) => {
    const workload = stage.workload('SERVES');
    const made = await stage.run(workload);
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    expect(await stranger.observe({ environment: stage.environment }, never())).toEqual([]);
    expect(await stage.ids({ environment: stage.environment })).toEqual(made);
  });
}

/** Tests adding instances to a rollout, and removing them again. */
export function scaleTests(test: Test, expect: Suite['expect']): void {
  test('adds instances to a rollout, waits for these, and takes the last ones away again', async (stage) => {
    const workload = stage.workload('SERVES');
    const [kept = ''] = await stage.run(workload);
    const more = { ...workload, instances: 3, firstInstance: 1 };
    await stage.driver.start(more, stage.context());
    const added = await stage.driver.awaitReady(more, stage.context());
    expect(added.map(({ index }) => index)).toEqual([1, 2]);
    const { service, rollout } = { ...workload.owner, ...workload };
    expect(await stage.ids({ service })).toHaveLength(3);
    await stage.driver.retire({ service, rollout, fromIndex: 1 }, 1, stage.context());
    expect(await stage.ids({ service })).toEqual([kept]);
  });
}

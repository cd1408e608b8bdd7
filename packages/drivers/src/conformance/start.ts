import { randomUUID } from 'node:crypto';
import { type ConformanceSubject, never, type Suite, type Test } from './setup.ts';

/** Tests what `start` creates, and that it creates nothing twice. */
export function startTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('describes the engine and how large it is', async ({ driver }) => {
    const description = await driver.describe(never());
    expect(description.engine).not.toBe('');
    expect(description.cpuMillicores).toBeGreaterThan(0);
    expect(description.memoryMiB).toBeGreaterThan(0);
    await driver.ping(never());
  });

  test('starts as many instances as asked, and tells where their ports are reached', async (setup) => {
    const workload = setup.workload('SERVES', { instances: 2 });
    await setup.driver.start(workload, setup.context());
    const ready = await setup.driver.awaitReady(workload, setup.context());
    expect(ready.map(({ index, state, rollout }) => ({ index, state, rollout }))).toEqual([
      { index: 0, state: 'RUNNING', rollout: workload.rollout },
      { index: 1, state: 'RUNNING', rollout: workload.rollout },
    ]);
    for (const instance of ready) {
      expect(instance).toMatchObject({ release: workload.release, service: workload.owner.service, exit: null });
      expect(instance.endpoints.map(({ internalPort }) => internalPort)).toEqual([8080]);
    }
    expect(await setup.driver.observe({ rollout: workload.rollout }, never())).toEqual(ready);
  });

  test('adopts on a second start what the first one made', async (setup) => {
    const workload = setup.workload('SERVES', { instances: 2 });
    const first = await setup.run(workload);
    const second = await setup.run(workload);
    expect(second).toEqual(first);
    expect(await setup.ids({ service: workload.owner.service })).toEqual(first);
  });

  test('makes nothing twice when two start the same rollout at once', async (setup) => {
    const workload = setup.workload('SERVES', { instances: 2 });
    await Promise.all([setup.driver.start(workload, setup.context()), setup.driver.start(workload, setup.context())]);
    expect(await setup.run(workload)).toHaveLength(2);
    expect(await setup.ids({ service: workload.owner.service })).toHaveLength(2);
  });

  test('leaves instances of other rollouts alone', async (setup) => {
    const old = setup.workload('SERVES');
    const [kept] = await setup.run(old);
    const next = { ...old, rollout: randomUUID(), release: randomUUID() };
    const [made] = await setup.run(next);
    expect(new Set(await setup.ids({ service: old.owner.service }))).toEqual(new Set([kept, made]));
  });

  test('does not show one installation what another one made', async (setup) => {
    const workload = setup.workload('SERVES');
    const made = await setup.run(workload);
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    expect(await stranger.observe({ environment: setup.environment }, never())).toEqual([]);
    expect(await setup.ids({ environment: setup.environment })).toEqual(made);
  });
}

/** Tests adding instances to a rollout, and removing them again. */
export function scaleTests(test: Test, expect: Suite['expect']): void {
  test('adds instances to a rollout, waits for these, and takes the last ones away again', async (setup) => {
    const workload = setup.workload('SERVES');
    const [kept = ''] = await setup.run(workload);
    const more = { ...workload, instances: 3, firstInstance: 1 };
    await setup.driver.start(more, setup.context());
    const added = await setup.driver.awaitReady(more, setup.context());
    expect(added.map(({ index }) => index)).toEqual([1, 2]);
    const { service, rollout } = { ...workload.owner, ...workload };
    expect(await setup.ids({ service })).toHaveLength(3);
    await setup.driver.retire({ service, rollout, fromIndex: 1 }, 1, setup.context());
    expect(await setup.ids({ service })).toEqual([kept]);
  });
}

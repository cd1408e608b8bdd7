import { randomUUID } from 'node:crypto';
import type { ConformanceSubject, Suite, Test } from './setup.ts';

/** Tests what removal removes, and what it keeps. */
export function removalTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('retires what is selected and nothing else, and does not mind when it is gone', async (setup) => {
    const old = setup.workload('SERVES', { instances: 2 });
    await setup.run(old);
    const next = { ...old, rollout: randomUUID() };
    const kept = await setup.run(next);
    const selector = { service: old.owner.service, exceptRollout: next.rollout };
    await setup.driver.retire(selector, 1, setup.context());
    expect(await setup.ids({ service: old.owner.service })).toEqual(kept);
    await setup.driver.retire(selector, 1, setup.context());
    expect(await setup.ids({ service: old.owner.service })).toEqual(kept);
  });

  test('removes a service, and leaves its neighbours', async (setup) => {
    const [gone, neighbour] = [setup.workload('SERVES'), setup.workload('SERVES')];
    await setup.run(gone);
    const kept = await setup.run(neighbour);
    await setup.driver.removeService(setup.environment, gone.owner.service, setup.context());
    await setup.driver.removeService(setup.environment, gone.owner.service, setup.context());
    expect(await setup.ids({ environment: setup.environment })).toEqual(kept);
  });

  test('removes an environment, twice without a fault, and leaves other environments and installations', async (setup) => {
    const elsewhere = randomUUID();
    await setup.run(setup.workload('SERVES'));
    const kept = await setup.run(setup.workload('SERVES', { environmentId: elsewhere }));
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    await stranger.removeEnvironment(elsewhere, setup.context());
    await setup.driver.removeEnvironment(setup.environment, setup.context());
    await setup.driver.removeEnvironment(setup.environment, setup.context());
    expect(await setup.ids({})).toEqual(kept);
  });
}

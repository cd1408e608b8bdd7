import { randomUUID } from 'node:crypto';
import type { ConformanceSubject, Suite, Test } from './stage.ts';

/** Tests what removal removes, and what it keeps. */
export function removalTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('retires what is selected and nothing else, and does not mind when it is gone', async (stage) => {
    const old = stage.workload('SERVES', { instances: 2 });
    await stage.run(old);
    const next = { ...old, rollout: randomUUID() };
    const kept = await stage.run(next);
    const selector = { service: old.owner.service, exceptRollout: next.rollout };
    await stage.driver.retire(selector, 1, stage.context());
    expect(await stage.ids({ service: old.owner.service })).toEqual(kept);
    await stage.driver.retire(selector, 1, stage.context());
    expect(await stage.ids({ service: old.owner.service })).toEqual(kept);
  });

  test('removes a service, and leaves its neighbours', async (stage) => {
    const [gone, neighbour] = [stage.workload('SERVES'), stage.workload('SERVES')];
    await stage.run(gone);
    const kept = await stage.run(neighbour);
    await stage.driver.removeService(stage.environment, gone.owner.service, stage.context());
    await stage.driver.removeService(stage.environment, gone.owner.service, stage.context());
    expect(await stage.ids({ environment: stage.environment })).toEqual(kept);
  });

  test('removes an environment, twice without a fault, and leaves other environments and installations', async (stage) => {
    const elsewhere = randomUUID();
    await stage.run(stage.workload('SERVES'));
    const kept = await stage.run(stage.workload('SERVES', { environmentId: elsewhere }));
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    await stranger.removeEnvironment(elsewhere, stage.context());
    await stage.driver.removeEnvironment(stage.environment, stage.context());
    await stage.driver.removeEnvironment(stage.environment, stage.context());
    expect(await stage.ids({})).toEqual(kept);
  });
}

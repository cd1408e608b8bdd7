import { afterEach, expect, test, vi } from 'vitest';
import { createEngine, type RequestedService } from '../index.ts';
import { notifyClusters, Sites } from '../testing/sites.ts';
import { createWorld, eventually, service, type World } from '../testing/world.ts';

/* Who follows what instances print, and for how long. */

let world: World;
afterEach(() => world.close());

async function lines({ serviceId }: RequestedService): Promise<string[]> {
  const found = await world.engine.port.serviceLog(world.database.database, serviceId, 100);
  return found.map(({ message }) => message);
}

test('two processes store each line once, and the second goes on where the first stopped', async () => {
  world = await createWorld();
  const shop = service();
  const second = createEngine(world.input);
  await second.start();
  try {
    await world.deploy([shop]);
    await world.reaches(shop.serviceId, 'DEPLOYED');
    const id = world.fake.instances[0]?.id ?? '';
    world.fake.print(id, 'first');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['first']));
    world.fake.print(id, 'second');
    await world.engine.stop();
    world.fake.print(id, 'while nobody follows');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['first', 'second', 'while nobody follows']), 20_000);
    world.fake.print(id, 'last');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['first', 'second', 'while nobody follows', 'last']));
  } finally {
    await second.stop();
  }
});

test('the output of a cluster is followed again after it was connected anew', async () => {
  const sites = new Sites();
  const east = sites.add('east');
  world = await createWorld({}, sites);
  const shop = service();
  await world.deploy([shop], { place: east.place });
  await world.reaches(shop.serviceId, 'DEPLOYED');
  const id = east.fake.instances[0]?.id ?? '';
  east.fake.print(id, 'before');
  await vi.waitFor(async () => expect(await lines(shop)).toEqual(['before']));
  sites.give(east, 'east', 'good');
  await world.database.database.many(notifyClusters, []);
  await eventually(async () => (east.connections > 1 ? true : undefined), 'the new connection');
  east.fake.print(id, 'after');
  await vi.waitFor(async () => expect(await lines(shop)).toEqual(['before', 'after']), 20_000);
});

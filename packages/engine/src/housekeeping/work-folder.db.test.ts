import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { statement } from '@davit/db';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestEngine, eventually, service, settings, type TestEngine } from '../testing/test-engine.ts';
import { sweepWorkFolder } from './work-folder.ts';

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(() => fixture.close());

const sweep = () =>
  sweepWorkFolder({ database: fixture.database.database, settings: { ...settings, workFolder: fixture.workFolder } });

/** Creates the leftovers of a killed process: the kubeconfig of a chart's service. */
async function leave(deployment: string, owner: string): Promise<void> {
  const folder = join(fixture.workFolder, deployment, owner, 'helm');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'kubeconfig'), 'token: canary');
}

const left = async (): Promise<string[]> => (await readdir(fixture.workFolder)).toSorted();

const reaches = (owner: string, state: string) =>
  eventually(async () => ((await fixture.view(owner)).state === state ? true : undefined), state);
const turn = statement<{ id: string }>(
  'test_work_terraform',
  `update deployment_service set service_type = 'TERRAFORM' where deployment_id = $1 returning deployment_id as id`,
);

test('what an ended deployment left goes; what is under way, of Terraform, or not of a deployment stays', async () => {
  const [shop, network, other] = [service(), service(), service()];
  const ended = await fixture.deploy([shop]);
  await reaches(shop.serviceId, 'DEPLOYED');
  const states = await fixture.deploy([network]);
  await reaches(network.serviceId, 'DEPLOYED');
  await fixture.database.database.one(turn, [states]);
  const held = Promise.withResolvers<void>();
  fixture.fake.script = { before: ({ method }) => (method === 'start' ? held.promise : undefined) };
  const underWay = await fixture.deploy([other]);
  await reaches(other.serviceId, 'DEPLOYING');
  await leave(ended, shop.serviceId);
  await leave(states, network.serviceId);
  await leave(underWay, other.serviceId);
  await leave(randomUUID(), shop.serviceId);
  await leave('leave-fake', shop.serviceId);
  await sweep();
  expect(await left()).toEqual([states, underWay, 'leave-fake'].toSorted());
  held.resolve();
  const swept = async (): Promise<string[]> => {
    await sweep();
    return left();
  };
  await expect.poll(swept).toEqual([states, 'leave-fake'].toSorted());
});

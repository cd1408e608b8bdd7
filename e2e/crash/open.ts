import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder } from '../../packages/drivers/src/source/testing.ts';
import { redisImage } from '../../packages/testkit/src/database-images.ts';
import { startTestEngine, testRegistryPort, type EngineKind } from '../../packages/testkit/src/engines.ts';
import { startTestRegistry } from '../../packages/testkit/src/registry.ts';
import { TestSetup } from '../support/setup.ts';
import { makeSubjects } from './subjects.ts';
import { Survival } from './survival.ts';

const own = new URL('../../packages/server/data/databases.json', import.meta.url);

/** Opens a stage with everything that the services of the matrix need. */
export async function openMatrix(kind: EngineKind): Promise<{ readonly survival: Survival; close(): Promise<void> }> {
  await startTestEngine(kind);
  const registry = await startTestRegistry(await testRegistryPort(), { isOpen: true });
  await registry.push('library/web', '1');
  await registry.pushImage('library/redis', '7', await redisImage());
  const folder = scratchFolder();
  const catalogue = join(folder.path, 'databases.json');
  writeFileSync(catalogue, readFileSync(own, 'utf8').replaceAll('docker.io/', `${registry.address}/`));
  const setup = await TestSetup.open(kind, {
    DAVIT_ALLOW_HTTP_REGISTRIES: 'true',
    DAVIT_DATABASE_CATALOGUE: catalogue,
    DAVIT_TERRAFORM_PROGRAM: 'terraform',
  });
  const { organizationId } = setup;
  const from = { name: 'own', kind: 'GENERIC_CR' as const, url: `${registry.url}/library`, config: {} };
  const made = await setup.davit.client.call('createContainerRegistry', { params: { organizationId }, body: from });
  return {
    survival: new Survival(setup, makeSubjects(setup, { registryId: made.id })),
    close: async () => {
      await setup.close();
      await registry.close();
      folder.remove();
    },
  };
}

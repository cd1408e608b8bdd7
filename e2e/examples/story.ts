import { clusterInUse, clusters } from './scenes/clusters.ts';
import { catalogues, organization } from './scenes/organization.ts';
import { firstDeployment, pushes, reading } from './scenes/deployments.ts';
import { ending } from './scenes/ending.ts';
import { project, stages } from './scenes/project.ts';
import { services } from './scenes/services.ts';
import { variables } from './scenes/variables.ts';
import { account, apiToken, colleagues, devices, firstRun, roles } from './scenes/people.ts';
import type { RecordedCall } from './recorder.ts';
import { startShopServer } from './shop.ts';

export interface Story {
  readonly calls: readonly RecordedCall[];
  /** Texts of this run that the examples have in another form. */
  readonly replacements: ReadonlyMap<string, string>;
}

/** Runs the story of the shop on a real server: every operation is called at least once. Takes some twenty seconds. */
export async function runStory(): Promise<Story> {
  const shop = await startShopServer();
  try {
    await firstRun(shop);
    await account(shop);
    await colleagues(shop);
    await devices(shop);
    const api = await apiToken(shop);
    await organization(shop, api);
    await catalogues(shop, api);
    await clusters(shop, api);
    await project(shop, api);
    await services(shop, api);
    await stages(shop, api);
    await variables(shop, api);
    await firstDeployment(shop, api);
    await pushes(shop, api);
    await reading(shop, api);
    await clusterInUse(shop, api);
    await roles(shop);
    await ending(shop, api);
    return { calls: shop.recorder.calls, replacements: shop.recorder.replacements };
  } finally {
    await shop.close();
  }
}

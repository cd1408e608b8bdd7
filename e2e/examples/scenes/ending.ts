import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';
import { settled } from './deployments.ts';
import { nouns } from './services.ts';

/** Copies are made, and taken down again; the shop is given to Grace. */
export async function ending(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, ada } = shop;
  const { developmentId = '', stagingId = '', userId, applicationId = '' } = recorder.ids;
  await recorder.call(api, 'removeApplicationFromDatabase', { params: { targetApplicationId: applicationId } });
  for (const noun of nouns) {
    const word = noun.toLowerCase();
    const environment_id = noun === 'Helm' ? stagingId : developmentId;
    const copy = await recorder.call(api, `clone${noun}`, { body: { name: `${word} to try`, environment_id } });
    const params = { [`${word}Id`]: copy.id };
    await recorder.prepare(api, `deploy${noun}`, { params });
    await settled(shop, api, environment_id);
    await recorder.call(api, `uninstall${noun}`, { params });
    await settled(shop, api, environment_id);
    await recorder.call(api, `delete${noun}`, { params });
  }
  const copied = await recorder.call(api, 'cloneEnvironment', { body: { name: 'rehearsal', mode: 'STAGING' } });
  const listed = await recorder.prepare(api, 'listApplication', { params: { environmentId: copied.id } });
  const chosen = { application_ids: listed.results.map(({ id }) => id) };
  const params = { environmentId: copied.id };
  await recorder.call(api, 'stopEnvironment', { params });
  await recorder.call(api, 'uninstallSelectedServices', { params, body: chosen });
  await recorder.call(api, 'deleteSelectedServices', { params, body: chosen });
  await recorder.call(api, 'uninstallEnvironment', { params });
  await recorder.call(api, 'deleteEnvironment', { params });
  const other = await recorder.prepare(api, 'createProject', { body: { name: 'former' } });
  await recorder.call(api, 'deleteProject', { params: { projectId: other.id } });
  await recorder.call(ada, 'postOrganizationTransferOwnership', { body: { user_id: userId } });
}

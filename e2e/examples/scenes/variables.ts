import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';

/** The variables and secrets of every scope. */
export async function variables(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  await databaseSecret(shop, api);
  for (const noun of ['Project', 'Environment', 'Application', 'Container', 'Job'] as const) {
    await ofScope(shop, api, noun, {
      Sort: 'EnvironmentVariable',
      list: 'EnvironmentVariable',
      parameter: 'environmentVariableId',
      value: 'info',
    });
    await ofScope(shop, api, noun, { Sort: 'Secret', list: 'Secrets', parameter: 'secretId', value: '<secret>' });
  }
  const vars = (scope: string) => ({
    overwrite: true,
    vars: [
      { name: `${scope}_CURRENCY`, value: 'EUR', scope, is_secret: false },
      { name: `${scope}_PAYMENT_KEY`, value: '<key of the payment service>', scope, is_secret: true },
    ],
  });
  await recorder.call(api, 'importEnvironmentVariable', { body: vars('APPLICATION') });
  await recorder.call(api, 'importContainerEnvironmentVariable', { body: vars('CONTAINER') });
  await recorder.call(api, 'importJobEnvironmentVariable', { body: vars('JOB') });
  const { applicationId = '', projectId = '' } = recorder.ids;
  await recorder.call(api, 'importEnvironmentVariables', {
    query: { service_type: 'APPLICATION', service_id: applicationId },
    body: vars('ENVIRONMENT'),
  });
  await ofAnyScope(shop, api, { applicationId, projectId });
}

/** The application gets the address of the database, with its password, as a secret of its own name. */
async function databaseSecret({ recorder }: ShopServer, api: Caller): Promise<void> {
  const { results } = await recorder.call(api, 'listApplicationSecrets');
  const url = results.find(
    ({ key, service_id }) => service_id === recorder.ids['databaseId'] && String(key).endsWith('_DATABASE_URL'),
  );
  const params = { secretId: url?.id ?? '' };
  await recorder.call(api, 'createApplicationSecretAlias', { params, body: { key: 'DATABASE_URL' } });
}

interface Sort {
  readonly Sort: string;
  readonly list: string;
  readonly parameter: string;
  readonly value: string;
}

async function ofScope(
  { recorder }: ShopServer,
  api: Caller,
  noun: string,
  { Sort, list, parameter, value }: Sort,
): Promise<void> {
  const kind = Sort === 'Secret' ? 'API_KEY' : 'LOG_LEVEL';
  const key = `${noun.toUpperCase()}_${kind}`;
  const { id } = await recorder.call(api, `create${noun}${Sort}`, { body: { key, value, description: 'For the log' } });
  const params = { [parameter]: id };
  await recorder.call(api, `list${noun}${list}`);
  await recorder.call(api, `edit${noun}${Sort}`, { params, body: { key, value: `${value} of the shop` } });
  const alias = await recorder.call(api, `create${noun}${Sort}Alias`, { params, body: { key: `${key}_ALIAS` } });
  // Nothing is wider than a project, so there is nothing to override.
  const wider = noun === 'Project' ? params : { [parameter]: recorder.ids[`wider${Sort}Id`] ?? '' };
  const refusal = noun === 'Project' ? { refusal: 400 } : {};
  await recorder.call(api, `create${noun}${Sort}Override`, { params: wider, body: { value: `${value} of one` }, ...refusal });
  if (noun === 'Project') recorder.ids = { ...recorder.ids, [`wider${Sort}Id`]: id };
  await recorder.call(api, `delete${noun}${Sort}`, { params: { [parameter]: alias.id } });
}

interface Scopes {
  readonly applicationId: string;
  readonly projectId: string;
}

/** The operations that take the scope as a parameter. */
async function ofAnyScope({ recorder }: ShopServer, api: Caller, { applicationId, projectId }: Scopes): Promise<void> {
  const at = (prefix: string) => ({ [`${prefix}_scope`]: 'APPLICATION', [`${prefix}_parent_id`]: applicationId });
  const ofProject = { variable_scope: 'PROJECT', variable_parent_id: projectId };
  const created = await recorder.call(api, 'createVariable', {
    body: { key: 'COUNTRY', value: 'FR', is_secret: false, ...ofProject },
  });
  const params = { variableId: created.id };
  await recorder.call(api, 'listVariables', { query: { scope: 'PROJECT', parent_id: projectId } });
  await recorder.call(api, 'editVariable', { params, body: { key: 'COUNTRY', value: 'DE' } });
  const alias = await recorder.call(api, 'createVariableAlias', { params, body: { key: 'SHOP_COUNTRY', ...at('alias') } });
  await recorder.call(api, 'createVariableOverride', { params, body: { value: 'ES', ...at('override') } });
  await recorder.call(api, 'deleteVariable', { params: { variableId: alias.id } });
}

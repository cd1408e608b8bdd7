import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';

/** A key with the value that it gets first, the one that an edit gives it, and what it is for. */
interface Entry {
  readonly key: string;
  readonly value: string;
  readonly edited: string;
  readonly description: string;
}

interface Entries {
  readonly EnvironmentVariable: Entry;
  readonly Secret: Entry;
}

const secret = (key: string, of: string): Entry => ({
  key,
  value: `<${of}>`,
  edited: `<new ${of}>`,
  description: `The ${of}`,
});

/** The variable and the secret of each scope. */
const scopes: Readonly<Record<string, Entries>> = {
  Project: {
    EnvironmentVariable: { key: 'LOG_LEVEL', value: 'info', edited: 'warn', description: 'How much is logged' },
    Secret: secret('PAYMENT_KEY', 'key of the payment service'),
  },
  Environment: {
    EnvironmentVariable: { key: 'CURRENCY', value: 'EUR', edited: 'USD', description: 'The currency of the prices' },
    Secret: secret('MAIL_KEY', 'key of the mail service'),
  },
  Application: {
    EnvironmentVariable: { key: 'PAGE_SIZE', value: '20', edited: '50', description: 'Products on a page' },
    Secret: secret('SESSION_KEY', 'key that signs sessions'),
  },
  Container: {
    EnvironmentVariable: {
      key: 'SENDER',
      value: 'shop@acme.example',
      edited: 'orders@acme.example',
      description: 'Who sends mails',
    },
    Secret: secret('SMTP_PASSWORD', 'password of the mail server'),
  },
  Job: {
    EnvironmentVariable: { key: 'BATCH_SIZE', value: '500', edited: '1000', description: 'Rows that are changed at once' },
    Secret: secret('REPORT_KEY', 'key of the report service'),
  },
};

/** The variables and secrets of every scope. */
export async function variables(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  await databaseSecret(shop, api);
  for (const [noun, entries] of Object.entries(scopes)) {
    await ofScope(shop, api, noun, { sort: 'EnvironmentVariable', entry: entries.EnvironmentVariable });
    await ofScope(shop, api, noun, { sort: 'Secret', entry: entries.Secret });
  }
  const vars = (scope: string, name: string) => ({
    overwrite: true,
    vars: [
      { name, value: 'on', scope, is_secret: false },
      { name: `${name}_KEY`, value: `<key of ${name.toLowerCase()}>`, scope, is_secret: true },
    ],
  });
  await recorder.call(api, 'importEnvironmentVariable', { body: vars('APPLICATION', 'SEARCH') });
  await recorder.call(api, 'importContainerEnvironmentVariable', { body: vars('CONTAINER', 'NEWSLETTER') });
  await recorder.call(api, 'importJobEnvironmentVariable', { body: vars('JOB', 'ARCHIVE') });
  const { applicationId = '', projectId = '' } = recorder.ids;
  const query = { service_type: 'APPLICATION', service_id: applicationId };
  await recorder.call(api, 'importEnvironmentVariables', { query, body: vars('ENVIRONMENT', 'TRACING') });
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

interface OfScope {
  readonly sort: keyof Entries;
  readonly entry: Entry;
}

async function ofScope({ recorder }: ShopServer, api: Caller, noun: string, { sort, entry }: OfScope): Promise<void> {
  const { key, value, edited, description } = entry;
  const parameter = sort === 'Secret' ? 'secretId' : 'environmentVariableId';
  const { id } = await recorder.call(api, `create${noun}${sort}`, { body: { key, value, description } });
  const params = { [parameter]: id };
  await recorder.call(api, `list${noun}${sort === 'Secret' ? 'Secrets' : sort}`);
  await recorder.call(api, `edit${noun}${sort}`, { params, body: { key, value: edited } });
  const alias = await recorder.call(api, `create${noun}${sort}Alias`, { params, body: { key: `SHOP_${key}` } });
  await override();
  await recorder.call(api, `delete${noun}${sort}`, { params: { [parameter]: alias.id } });

  /** Overrides the variable of the project, which is the first scope of the story. */
  async function override(): Promise<void> {
    const ofProject = `${sort} of the project`;
    const body = { value: sort === 'Secret' ? '<another key of the payment service>' : 'debug' };
    // Nothing is wider than a project, so there is nothing to override.
    if (noun === 'Project') recorder.ids = { ...recorder.ids, [ofProject]: id };
    const refusal = noun === 'Project' ? { refusal: 400 } : {};
    const wider = { [parameter]: recorder.ids[ofProject] ?? '' };
    await recorder.call(api, `create${noun}${sort}Override`, { params: wider, body, ...refusal });
  }
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

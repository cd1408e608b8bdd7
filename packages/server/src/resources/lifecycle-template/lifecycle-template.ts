import { credentialProviders, type CredentialProvider, type operations, type Response } from '@davit/contract';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { LifecycleTemplate } from '../../catalogue/lifecycle-templates.ts';
import type { Needs } from '../../deps.ts';
import * as store from './store.ts';

type Templates = Response<(typeof operations)['listEnvironmentLifecycleTemplates']>;
type Template = Response<(typeof operations)['getEnvironmentLifecycleTemplate']>;

/**
 * Returns the templates for the vendor of the environment's cluster, in the order of the file. Fails with NOT_FOUND.
 */
export async function listTemplates(
  deps: Needs<'database' | 'lifecycleTemplates'>,
  caller: Caller,
  environmentId: string,
): Promise<Templates> {
  const { templates } = await templatesOf(deps, caller, environmentId);
  return { results: templates.map(({ id, name, description }) => ({ id, name, description })) };
}

/** Fails with NOT_FOUND, also for a template for clusters of another vendor. */
export async function readTemplate(
  deps: Needs<'database' | 'lifecycleTemplates'>,
  caller: Caller,
  { environmentId, lifecycleTemplateId }: { readonly environmentId: string; readonly lifecycleTemplateId: string },
): Promise<Template> {
  const { provider, templates } = await templatesOf(deps, caller, environmentId);
  const found = templates.find(({ id }) => id === lifecycleTemplateId);
  if (found === undefined) throw notFound('lifecycle template');
  const { id, name, description, source_url, max_duration_in_sec, resources, dockerfile } = found;
  return {
    id,
    name,
    description,
    sourceUrl: source_url,
    cloud_provider: provider,
    events: found.events.map(({ command, ...event }) => ({ ...event, command: [...command] })),
    max_duration_in_sec,
    resources,
    variables: found.variables.map((variable) => ({ ...variable })),
    dockerfile,
  };
}

async function templatesOf(
  deps: Needs<'database' | 'lifecycleTemplates'>,
  caller: Caller,
  environmentId: string,
): Promise<{ readonly provider: CredentialProvider; readonly templates: readonly LifecycleTemplate[] }> {
  const row = await deps.database.maybe(store.providerOfEnvironment, [environmentId, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  // The contract has five values for this. Clusters of other vendors count as on-premise.
  const provider = credentialProviders.find((one) => one === row.cloud_provider) ?? 'ON_PREMISE';
  const templates = deps.lifecycleTemplates.templates.filter((one) => one.cloud_providers?.includes(provider) ?? true);
  return { provider, templates };
}

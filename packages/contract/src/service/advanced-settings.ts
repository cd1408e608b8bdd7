import Type, { type Static, type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Nullable, Words } from '../shape.ts';
import type { ServiceType } from '../shared/words.ts';
import type { Kind } from './kinds.ts';

/*
 * Settings of the public description that take effect in Davit. Settings without effect are missing from this list, and
 * requests that set one are refused: users would believe that a stored setting takes effect. Settings without a default
 * here use the default of the installation.
 */

const seconds = (most: number, byDefault?: number) =>
  Type.Integer({ minimum: 1, maximum: most, ...(byDefault !== undefined && { default: byDefault }) });
const listed = (byDefault: string, description: string, most = 10_000) =>
  Type.String({ default: byDefault, maxLength: most, description });
const truth = (description: string) => Type.Boolean({ default: false, description });

const gracePeriod = 'deployment.termination_grace_period_seconds';

const processSettings = {
  [gracePeriod]: about('Seconds between SIGTERM and SIGKILL; by default those of the installation.', seconds(3600)),
  'security.read_only_root_filesystem': truth(
    'Whether processes can write to volumes only; files of FILE variables cannot be placed then.',
  ),
};

const rolloutSettings = {
  'deployment.update_strategy.type': about(
    'How new instances replace the running ones.',
    Words(
      {
        RollingUpdate: 'New instances start before the others stop.',
        Recreate: 'The others stop first; it is unavailable in between.',
      },
      { default: 'RollingUpdate' },
    ),
  ),
};

const buildSettings = {
  'build.timeout_max_sec': about('Seconds after which a build fails with STEP_TIMEOUT.', seconds(86_400, 3600)),
  'build.cpu_max_in_milli': about(
    'The CPU limit of a build in millicores; at most that of the installation.',
    Type.Integer({ minimum: 100, maximum: 1_024_000 }),
  ),
  'build.ram_max_in_gib': about(
    'The memory limit of a build in GiB; at most that of the installation.',
    Type.Integer({ minimum: 1, maximum: 1024 }),
  ),
  'build.disable_buildkit_cache': truth('Whether every step of a build runs again, without the cache.'),
};

const gatewaySettings = {
  'deployment.custom_domain_check_enabled': Type.Boolean({
    default: true,
    description: 'Whether the log of a deployment reports DNS problems of custom domains.',
  }),
  'network.ingress.proxy_body_size_mb': Type.Integer({
    minimum: 0,
    maximum: 1_048_576,
    default: 0,
    description: 'In MB: requests that announce a longer body get 413. 0: no limit.',
  }),
  'network.ingress.proxy_connect_timeout_seconds': about(
    'Seconds until an instance has to accept a connection.',
    seconds(300, 4),
  ),
  'network.ingress.proxy_read_timeout_seconds': about(
    'Seconds between two parts of a response of HTTP ports, then 504.',
    seconds(86_400, 3600),
  ),
  'network.ingress.grpc_read_timeout_seconds': about(
    'Seconds between two parts of a response of GRPC ports, then 504.',
    seconds(86_400, 3600),
  ),
  'network.ingress.whitelist_source_range': listed(
    '0.0.0.0/0,::/0',
    'Addresses and networks, separated by commas; all others get 403.',
  ),
  'network.ingress.denylist_source_range': listed('', 'Addresses and networks, separated by commas, that get 403.'),
  'network.ingress.enable_sticky_session': truth('Whether a cookie keeps a client on one instance.'),
  'network.ingress.force_ssl_redirect': Type.Boolean({
    default: true,
    description: 'Whether requests over HTTP for custom domains with a certificate are redirected to HTTPS (308).',
  }),
  'network.ingress.enable_cors': truth(
    'Whether the gateway answers preflight requests, and pages of the allowed origins may read responses.',
  ),
  'network.ingress.cors_allow_origin': listed('*', 'Allowed origins, separated by commas; at least one.'),
  'network.ingress.cors_allow_methods': listed(
    'GET, PUT, POST, DELETE, PATCH, OPTIONS',
    'Allowed methods, separated by commas; at least one.',
    1000,
  ),
  'network.ingress.cors_allow_headers': listed(
    'DNT, Keep-Alive, User-Agent, X-Requested-With, If-Modified-Since, Cache-Control, Content-Type, Range, Authorization',
    'Allowed headers of requests, separated by commas; at least one.',
    4000,
  ),
  'network.ingress.extra_headers': listed(
    '{}',
    'Headers of every response: the text of a JSON object of strings; at most 50, with 8000 characters in total.',
  ),
};

/**
 * Target utilization in percent of the resources of one instance. Above 95 percent, the need for more instances could
 * not be detected. These settings scale only between `min_running_instances` and `max_running_instances`.
 */
const scalingSettings = {
  'hpa.cpu.average_utilization_percent': Type.Integer({
    minimum: 1,
    maximum: 95,
    default: 60,
    description: 'Instances are added while their average CPU utilization is higher, and removed while fewer would suffice.',
  }),
  'hpa.memory.average_utilization_percent': Nullable(
    Type.Integer({ minimum: 1, maximum: 95, description: 'The same for memory; null: memory is not considered.' }),
  ),
};

/** Settings of a service, by its type. The list is empty for a type for which no setting takes effect. */
export const advancedSettings = {
  APPLICATION: { ...processSettings, ...rolloutSettings, ...scalingSettings, ...buildSettings, ...gatewaySettings },
  CONTAINER: { ...processSettings, ...rolloutSettings, ...scalingSettings, ...gatewaySettings },
  DATABASE: {},
  JOB: { ...processSettings, ...buildSettings },
  HELM: {},
  // On a stop request, Terraform finishes the running operations and stores its state.
  TERRAFORM: { [gracePeriod]: about('Seconds in which Terraform may finish and store its state.', seconds(3600, 60)) },
} as const satisfies Record<ServiceType, object>;

/** All settings of a type, and the request that changes some of them. null resets a setting to its default. */
function shapes<P extends Record<string, TSchema>>(Noun: string, settings: P) {
  type Change = Partial<{ [Name in keyof P]: Static<P[Name]> | null }>;
  const nullable = Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, Nullable(schema)]));
  const change = Type.Unsafe<Change>(Type.Partial(Type.Object(nullable)));
  return {
    all: Named(`${Noun}AdvancedSettings`, Type.Object(settings), 'The advanced settings, with defaults where nothing was set.'),
    change: Named(`${Noun}AdvancedSettingsRequest`, change, 'The settings to change; null restores a default.'),
  };
}

export const applicationSettings = shapes('Application', advancedSettings.APPLICATION);
export const containerSettings = shapes('Container', advancedSettings.CONTAINER);
export const jobSettings = shapes('Job', advancedSettings.JOB);
export const helmSettings = shapes('Helm', advancedSettings.HELM);
export const terraformSettings = shapes('Terraform', advancedSettings.TERRAFORM);

const target = 'service' as const;

/** Returns the operations read and edit. `Word`: the name of the kind in operation ids; empty for applications. */
export function advancedSettingsOperations<
  const K extends Kind,
  const Word extends string,
  All extends TSchema,
  Change extends TSchema,
>(kind: K, { Word, all, change }: { readonly Word: Word; readonly all: All; readonly change: Change }) {
  const path = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/advancedSettings` as const;
  const tag = kind.Noun;
  return {
    advancedSettings: operation({
      id: `get${Word}AdvancedSettings`,
      method: 'GET',
      path,
      tag,
      summary: `Read the advanced settings of ${kind.one}`,
      description: `
        Returns all settings that have an effect on this type of service, with defaults where nothing was set. Types
        without such settings have an empty object.
      `,
      scope: 'READ',
      target,
      status: 200,
      response: all,
      errors: [],
    }),
    editAdvancedSettings: operation({
      id: `edit${Word}AdvancedSettings`,
      method: 'PUT',
      path,
      tag,
      summary: `Edit the advanced settings of ${kind.one}`,
      description: `
        Changes the settings that the request names; null restores a default. The next deployment applies them:
        until then the service is OUT_OF_DATE. A setting without effect on this type of service is refused, and the
        answer lists the others.
      `,
      scope: 'WRITE',
      target,
      body: change,
      status: 201,
      response: all,
      errors: [400, 409],
    }),
  };
}

const defaults = { method: 'GET', scope: 'READ', target: 'instance', status: 200, errors: [] } as const;

export const getDefaultApplicationAdvancedSettings = operation({
  id: 'getDefaultApplicationAdvancedSettings',
  path: '/defaultApplicationAdvancedSettings',
  tag: 'Application',
  summary: 'Read the default settings of applications',
  description: `
    Returns the advanced settings of a new application: the defaults of this installation. It does not depend on who
    asks, nor on any organization.
  `,
  response: applicationSettings.all,
  ...defaults,
});

export const getDefaultContainerAdvancedSettings = operation({
  id: 'getDefaultContainerAdvancedSettings',
  path: '/defaultContainerAdvancedSettings',
  tag: 'Container',
  summary: 'Read the default settings of containers',
  description: `
    Returns the advanced settings of a new container: the defaults of this installation. It does not depend on who
    asks, nor on any organization.
  `,
  response: containerSettings.all,
  ...defaults,
});

export const getDefaultHelmAdvancedSettings = operation({
  id: 'getDefaultHelmAdvancedSettings',
  path: '/defaultHelmAdvancedSettings',
  tag: 'Helm',
  summary: 'Read the default settings of Helm charts',
  description: `
    Returns the advanced settings of a new Helm chart. The object is empty, because no setting has an effect on Helm
    charts yet.
  `,
  response: helmSettings.all,
  ...defaults,
});

export const getDefaultJobAdvancedSettings = operation({
  id: 'getDefaultJobAdvancedSettings',
  path: '/defaultJobAdvancedSettings',
  tag: 'Job',
  summary: 'Read the default settings of jobs',
  description: `
    Returns the advanced settings of a new job: the defaults of this installation. It does not depend on who asks,
    nor on any organization.
  `,
  response: jobSettings.all,
  ...defaults,
});

export const getDefaultTerraformAdvancedSettings = operation({
  id: 'getDefaultTerraformAdvancedSettings',
  path: '/defaultTerraformAdvancedSettings',
  tag: 'Terraform',
  summary: 'Read the default settings of Terraform',
  description: `
    Returns the advanced settings of a new Terraform configuration: the defaults of this installation. It does not
    depend on who asks, nor on any organization.
  `,
  response: terraformSettings.all,
  ...defaults,
});

import { isIP } from 'node:net';
import { advancedSettings } from '@davit/contract';
import type { ReleaseConfig } from '@davit/engine/port';
import type { Problems } from '../../shared/problems.ts';

type Value = string | number | boolean;

/** Changed settings, in the contract's terms. The settings were checked when they were stored. */
export type AdvancedSettingsSpec = Readonly<Record<string, Value>>;

export type SettingsType = keyof typeof advancedSettings;

/**
 * Returns the contract's default of a setting. Returns undefined if the installation defines the default, or if the
 * type does not have the setting.
 */
export function settingDefault(type: SettingsType, name: string): Value | undefined {
  const schemas: Readonly<Record<string, object>> = advancedSettings[type];
  const value: unknown = Reflect.get(schemas[name] ?? {}, 'default');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** All settings of a type. null: the setting has no effect until it is set. */
export type CompleteSettings = Readonly<Record<string, Value | null>>;

export interface SettingsRules {
  /** Settings of the type, with their defaults. */
  readonly defaults: CompleteSettings;
  /** Upper limits of settings in this installation. */
  readonly most: Readonly<Record<string, number>>;
  readonly problems: Problems;
}

/**
 * Returns the changed settings after a request, whose values have the types of the contract. null restores the default;
 * omitted settings stay.
 */
export function mergedSettings(
  request: Readonly<Record<string, unknown>>,
  former: AdvancedSettingsSpec,
  { defaults, most, problems }: SettingsRules,
): AdvancedSettingsSpec {
  const merged = new Map(Object.entries(former));
  for (const [name, value] of Object.entries(request)) {
    if (!Object.hasOwn(defaults, name)) problems.add(name, `is not offered; the settings are ${supported(defaults)}`);
    else if (value === null) merged.delete(name);
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      const fault = faultOf(name, value, most[name]);
      if (fault !== null) problems.add(name, fault);
      merged.set(name, value);
    }
  }
  return Object.fromEntries([...merged].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function supported(defaults: CompleteSettings): string {
  const names = Object.keys(defaults);
  return names.length === 0 ? 'none for this type of service' : names.join(', ');
}

function faultOf(name: string, value: Value, most: number | undefined): string | null {
  if (typeof value === 'number' && most !== undefined && value > most) {
    return `must be at most ${most}: the limit for builds of this installation`;
  }
  if (typeof value !== 'string') return null;
  const words = toWords(value);
  const wrong = (isGood: (word: string) => boolean): string | undefined => words.find((word) => !isGood(word));
  switch (name) {
    case 'network.ingress.whitelist_source_range':
      if (words.length === 0) return 'must have an address or network; 0.0.0.0/0,::/0 is all of them';
      return says(wrong(isNetwork), 'is not an address or network, as in 10.0.0.0/8');
    case 'network.ingress.denylist_source_range':
      if (words.length === 0 && value !== '') return 'must have an address or network, or be empty: then nobody is denied';
      return says(wrong(isNetwork), 'is not an address or network, as in 10.0.0.0/8');
    case 'network.ingress.cors_allow_origin':
      if (words.length === 0) return 'must have an origin, or * for all';
      return says(wrong(isOrigin), 'is not an origin, as in https://app.example.org, or *');
    case 'network.ingress.cors_allow_methods':
      if (words.length === 0)
        return 'must have a method; to refuse pages of other origins set network.ingress.enable_cors to false';
      return says(wrong(isToken), 'is not a word of letters, digits, . _ -');
    case 'network.ingress.cors_allow_headers':
      if (words.length === 0) return 'must have a header; Accept alone allows only those that need no permission';
      return says(wrong(isToken), 'is not a word of letters, digits, . _ -');
    case 'network.ingress.extra_headers':
      return faultOfHeaders(value);
    default:
      return null;
  }
}

function faultOfHeaders(value: string): string | null {
  const headers = toHeaders(value);
  if (typeof headers === 'string') return headers;
  const entries = Object.entries(headers);
  const length = entries.reduce((sum, [name, content]) => sum + name.length + content.length, 0);
  if (entries.length <= maxHeaders && length <= maxHeaderCharacters) return null;
  return `must have at most ${maxHeaders} headers with ${maxHeaderCharacters} characters in all; it has ${entries.length} with ${length}`;
}

function says(word: string | undefined, fault: string): string | null {
  return word === undefined ? null : `must be a list divided by commas: ${JSON.stringify(word)} ${fault}`;
}

// The gateway accepts these values: `route-table.ts` of the drivers refuses all others. A test here keeps both rules
// equal.
function isNetwork(word: string): boolean {
  const [, address = '', length] = /^([0-9A-Fa-f:.]+)(?:\/(\d{1,3}))?$/.exec(word) ?? [];
  const version = isIP(address);
  return version !== 0 && (length === undefined || Number(length) <= (version === 4 ? 32 : 128));
}

function isOrigin(word: string): boolean {
  return /^(?:\*|https?:\/\/[A-Za-z0-9.-]{1,253}(?::\d{1,5})?)$/.test(word);
}

function isToken(word: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(word);
}

/**
 * Headers that belong to the connection or to the gateway (RFC 9110, 7.6.1). A service that set them would break
 * responses.
 */
const reservedHeaders = new Set(
  'connection content-length keep-alive proxy-connection set-cookie te trailer transfer-encoding upgrade'.split(' '),
);

// The gateway reserves as many characters in each response (`tune.maxrewrite`). HTTP/2 clients accept some hundred
// headers.
const maxHeaders = 50;
const maxHeaderCharacters = 8000;

/** Returns the headers by name, or the error in the text. */
function toHeaders(text: string): Readonly<Record<string, string>> | string {
  const rule = 'must be the text of a JSON object of strings, as in {"X-Frame-Options": "DENY"}';
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return rule;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return rule;
  const headers = new Map<string, string>();
  for (const [name, content] of Object.entries(value)) {
    if (typeof content !== 'string') return rule;
    if (!isToken(name) || reservedHeaders.has(name.toLowerCase())) return `must not have the header ${JSON.stringify(name)}`;
    if (!/^(?=.*\S)[\x20-\x7e]{1,4096}$/.test(content)) return `must have printable ASCII as ${name}, at most 4096 characters`;
    headers.set(name, content.trim());
  }
  return Object.fromEntries(headers);
}

function toWords(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

type Options = NonNullable<ReleaseConfig['options']>;
type Route = NonNullable<NonNullable<Options['gateway']>['http']>;

/**
 * Returns the release's options. Only changed settings are included: the hash of a release without settings must not
 * change.
 */
export function toReleaseOptions(spec: AdvancedSettingsSpec): Pick<ReleaseConfig, 'options'> {
  const { http, grpc } = toRoutes(spec);
  const build = toBuild(spec);
  const options: Options = {
    ...number(spec, 'deployment.termination_grace_period_seconds', (terminationGraceSeconds) => ({ terminationGraceSeconds })),
    ...(spec['deployment.update_strategy.type'] === 'Recreate' && { recreate: true }),
    ...(spec['security.read_only_root_filesystem'] === true && { readOnlyRootFilesystem: true }),
    ...(spec['deployment.custom_domain_check_enabled'] === false && { unchecked: true }),
    ...(spec['network.ingress.force_ssl_redirect'] === false && { plainHttp: true }),
    ...(!isEmpty(build) && { build }),
    ...((!isEmpty(http) || !isEmpty(grpc)) && {
      gateway: { ...(!isEmpty(http) && { http }), ...(!isEmpty(grpc) && { grpc }) },
    }),
  };
  return isEmpty(options) ? {} : { options };
}

function toBuild(spec: AdvancedSettingsSpec): NonNullable<Options['build']> {
  return {
    ...number(spec, 'build.timeout_max_sec', (timeoutSeconds) => ({ timeoutSeconds })),
    ...number(spec, 'build.cpu_max_in_milli', (cpuMillicores) => ({ cpuMillicores })),
    ...number(spec, 'build.ram_max_in_gib', (gibibytes) => ({ memoryMiB: gibibytes * 1024 })),
    ...(spec['build.disable_buildkit_cache'] === true && { withoutCache: true }),
  };
}

function toRoutes(spec: AdvancedSettingsSpec): { readonly http: Route; readonly grpc: Route } {
  const allowed = words(spec, 'network.ingress.whitelist_source_range');
  const denied = words(spec, 'network.ingress.denylist_source_range');
  const headers = toHeaders(text(spec, 'network.ingress.extra_headers'));
  const both: Route = {
    ...number(spec, 'network.ingress.proxy_body_size_mb', (bodyLimitMebibytes) =>
      bodyLimitMebibytes === 0 ? {} : { bodyLimitMebibytes },
    ),
    ...number(spec, 'network.ingress.proxy_connect_timeout_seconds', (connectTimeoutSeconds) => ({ connectTimeoutSeconds })),
    ...(allowed.length > 0 && { allowedSources: allowed }),
    ...(denied.length > 0 && { deniedSources: denied }),
    ...(spec['network.ingress.enable_sticky_session'] === true && { sticky: true }),
    ...toCrossOrigin(spec),
    ...(typeof headers !== 'string' && !isEmpty(headers) && { headers }),
  };
  const timeout = (name: string): Route => number(spec, name, (readTimeoutSeconds) => ({ readTimeoutSeconds }));
  return {
    http: { ...both, ...timeout('network.ingress.proxy_read_timeout_seconds') },
    grpc: { ...both, ...timeout('network.ingress.grpc_read_timeout_seconds') },
  };
}

function toCrossOrigin(spec: AdvancedSettingsSpec): Pick<Route, 'crossOrigin'> {
  if (spec['network.ingress.enable_cors'] !== true) return {};
  const list = (name: string): string[] => toWords(String(spec[name] ?? settingDefault('CONTAINER', name) ?? ''));
  return {
    crossOrigin: {
      origins: list('network.ingress.cors_allow_origin'),
      methods: list('network.ingress.cors_allow_methods'),
      headers: list('network.ingress.cors_allow_headers'),
    },
  };
}

function text(spec: AdvancedSettingsSpec, name: string): string {
  const value = spec[name];
  return typeof value === 'string' ? value : '';
}

function words(spec: AdvancedSettingsSpec, name: string): string[] {
  return toWords(text(spec, name));
}

function number<Made extends object>(spec: AdvancedSettingsSpec, name: string, make: (value: number) => Made): Made | object {
  const value = spec[name];
  return typeof value === 'number' ? make(value) : {};
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

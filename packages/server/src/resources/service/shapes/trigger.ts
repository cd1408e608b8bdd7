import type { ReleaseConfig } from '@davit/engine/port';
import { FAILSAFE_SCHEMA, load, YAMLException } from 'js-yaml';
import type { Problems } from '../../shared/problems.ts';

/*
 * Reads the event sources of scalers, in KEDA's format. The reader is strict: unknown members are refused with their
 * path, as KEDA would report them only in its own log. It accepts nothing by which a service could act as KEDA itself,
 * or outside its namespace.
 */

type Events = NonNullable<NonNullable<ReleaseConfig['scaling']>['events']>;
export type Trigger = Events['triggers'][number];
export type Authentication = Omit<NonNullable<Trigger['authentication']>, 'name'>;

/** A text of a request, and its path in the request. */
export interface Written {
  readonly text: string;
  readonly path: string;
}

type Map = Readonly<Record<string, unknown>>;

const metricTypes = ['AverageValue', 'Value', 'Utilization'] as const;
/** Scalers of the pods' own resources, which all pods report. */
const ofResources = ['cpu', 'memory'];

/**
 * Returns the trigger of a scaler. The text is either the trigger's `metadata`, or a map with `metadata` and other
 * members of a KEDA trigger. Scalars become strings, as KEDA expects. Adds errors to `problems`.
 */
export function readTrigger(type: string, { text, path }: Written, isJson: boolean, problems: Problems): Trigger {
  const config = isJson ? mapOf(JSON.parse(text)) : (readYaml({ text, path }, problems) ?? {});
  const whole = isMap(config['metadata']) ? config : { metadata: config };
  const { metadata, metricType, useCachedMetrics, ...others } = whole;
  for (const name of Object.keys(others)) problems.add(path, `${name} ${unknownMember(name)}`);
  const values = Object.entries(mapOf(metadata)).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return [[name, String(value)]];
    problems.add(path, `${name} must be a string, a number or a boolean`);
    return [];
  });
  const trigger = Object.fromEntries(values);
  if (!['', undefined, 'pod'].includes(trigger['identityOwner']))
    problems.add(path, 'identityOwner must be pod: any other is the identity of KEDA itself');
  const byDefault = ofResources.includes(type) ? 'Utilization' : undefined;
  return {
    type,
    metadata: trigger,
    ...withMetricType(type, metricType ?? byDefault, { path, problems }),
    ...(isTrue(useCachedMetrics, { path, problems }) && { useCachedMetrics: true }),
  };
}

function unknownMember(name: string): string {
  if (name === 'type') return 'belongs in scaler_type';
  if (name === 'authenticationRef')
    return 'must not be here: write the content of the object that it names in trigger_authentication';
  return 'is not a member of a trigger; besides metadata there are metricType and useCachedMetrics';
}

interface TriggerRequest {
  readonly path: string;
  readonly problems: Problems;
}

function withMetricType(type: string, value: unknown, { path, problems }: TriggerRequest): Pick<Trigger, 'metricType'> {
  if (value === undefined) return {};
  const metricType = metricTypes.find((one) => one === value);
  const isOfResources = ofResources.includes(type);
  const fits = isOfResources ? metricType !== 'Value' : metricType !== 'Utilization';
  if (metricType !== undefined && fits) return { metricType };
  problems.add(path, `metricType must be ${isOfResources ? 'Utilization or AverageValue' : 'AverageValue or Value'}`);
  return {};
}

function isTrue(value: unknown, { path, problems }: TriggerRequest): boolean {
  if (value === true || value === 'true') return true;
  if (value !== undefined && value !== false && value !== 'false') problems.add(path, 'useCachedMetrics must be true or false');
  return false;
}

const references = { secretTargetRef: 'a Secret', configMapTargetRef: 'a ConfigMap' } as const;
/** Names of Kubernetes objects (RFC 1123). */
// Secrets of Davit: values and pull secrets of rollouts, and releases of charts. A trigger could send registry
// passwords from them to any address.
const ownSecret = /-[0-9a-f]{10}(-registry)?$|^sh\.helm\.release\./;
const objectName = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** Returns the credentials of a trigger: the names of the objects that contain the values, never the values. */
export function readAuthentication(written: Written, problems: Problems): Authentication {
  const { path } = written;
  const config = readYaml(written, problems);
  if (config === null) return {};
  if (Object.keys(config).length === 0)
    problems.add(path, 'must have env (variables of the service), secretTargetRef or configMapTargetRef, as KEDA has them');
  const { secretTargetRef, configMapTargetRef, env, ...others } = config;
  for (const name of Object.keys(others)) {
    problems.add(
      path,
      `${name} is not offered: KEDA would use an identity of its own, or what is outside the environment. Use env (variables of the service), secretTargetRef or configMapTargetRef`,
    );
  }
  const listed = { secretTargetRef, configMapTargetRef };
  const values = (['secretTargetRef', 'configMapTargetRef'] as const).flatMap((member) => {
    const list = readList(listed[member], ['parameter', 'name', 'key'], { at: member, path, problems });
    for (const { name = '' } of list)
      if (!objectName.test(name)) problems.add(path, `${member} must name ${references[member]} of the environment`);
      else if (member === 'secretTargetRef' && ownSecret.test(name))
        problems.add(
          path,
          `${member} must not name ${name}: Secrets with such names hold what Davit deploys with. Use env for variables`,
        );
    return list.length === 0 ? [] : [[member, list.map(({ parameter = '', name = '', key = '' }) => ({ parameter, name, key }))]];
  });
  const variables = readList(env, ['parameter', 'name'], { at: 'env', path, problems });
  return {
    ...Object.fromEntries(values),
    ...(variables.length > 0 && { env: variables.map(({ parameter = '', name = '' }) => ({ parameter, name })) }),
  };
}

/** Returns a list of maps with exactly these members. */
function readList(
  value: unknown,
  members: readonly string[],
  { at, path, problems }: TriggerRequest & { readonly at: string },
): Readonly<Record<string, string>>[] {
  if (value === undefined) return [];
  const rule = `must be a list of maps with ${members.join(', ')}`;
  if (!Array.isArray(value)) {
    problems.add(path, `${at} ${rule}`);
    return [];
  }
  return value.flatMap((entry: unknown, index) => {
    const map = mapOf(entry);
    const isRight =
      members.every((member) => typeof map[member] === 'string' && map[member] !== '') &&
      Object.keys(map).every((member) => members.includes(member));
    if (!isRight) problems.add(path, `${at}.${index} ${rule.replace('a list of maps', 'a map')}, and nothing else`);
    // The check above has shown that each value is a string.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return isRight ? [map as Readonly<Record<string, string>>] : [];
  });
}

/** Returns the map in the text. If the text is not a map, adds a problem and returns null. */
function readYaml({ text, path }: Written, problems: Problems): Map | null {
  try {
    const found: unknown = load(text, { schema: FAILSAFE_SCHEMA, maxAliases: 0, maxDepth: 8 });
    if (isMap(found)) return found;
    problems.add(path, 'must be a map in YAML');
  } catch (error) {
    const line = error instanceof YAMLException && error.mark !== undefined ? ` in line ${error.mark.line + 1}` : '';
    // The message has the parser's reason and does not repeat the text.
    const reason = error instanceof YAMLException ? error.reason : 'it is not understood';
    problems.add(path, `must be a map in YAML; it is none${line}: ${reason}`);
  }
  return null;
}

function isMap(value: unknown): value is Map {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapOf(value: unknown): Map {
  return isMap(value) ? value : {};
}

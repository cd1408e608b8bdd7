import type { ReleaseConfig } from '@davit/engine/port';
import { FAILSAFE_SCHEMA, load, YAMLException } from 'js-yaml';
import type { Problems } from '../../shared/problems.ts';

/*
 * What scalers say of where events come from, in the words of KEDA. Read strictly: what is not understood is refused with its place, as
 * KEDA would tell it to nobody but its own log. Nothing gets through by which a service would act as KEDA itself, or outside its namespace.
 */

type Events = NonNullable<NonNullable<ReleaseConfig['scaling']>['events']>;
export type Trigger = Events['triggers'][number];
export type Authentication = Omit<NonNullable<Trigger['authentication']>, 'name'>;

/** A text in a request, and where it stands there. */
export interface Written {
  readonly text: string;
  readonly path: string;
}

type Map = Readonly<Record<string, unknown>>;

const metricTypes = ['AverageValue', 'Value', 'Utilization'] as const;
/** Of the pods themselves: what these measure, all pods have. */
const ofResources = ['cpu', 'memory'];

/**
 * The trigger of a scaler: its `metadata`, or a map with `metadata` and what else KEDA knows of a trigger. Scalars are texts, as KEDA has
 * them. What is wrong is added to `problems`.
 */
export function readTrigger(type: string, { text, path }: Written, isJson: boolean, problems: Problems): Trigger {
  const config = isJson ? mapOf(JSON.parse(text)) : (readYaml({ text, path }, problems) ?? {});
  const whole = isMap(config['metadata']) ? config : { metadata: config };
  const { metadata, metricType, useCachedMetrics, ...others } = whole;
  for (const name of Object.keys(others)) problems.add(path, `${name} ${unknownMember(name)}`);
  const values = Object.entries(mapOf(metadata)).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return [[name, String(value)]];
    problems.add(path, `${name} must be a text, a number or a truth value`);
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
  if (name === 'type') return 'stands in scaler_type';
  if (name === 'authenticationRef') return 'must not be here: write what it leads to in trigger_authentication';
  return 'is no member of a trigger beside metadata: metricType and useCachedMetrics are';
}

interface Place {
  readonly path: string;
  readonly problems: Problems;
}

function withMetricType(type: string, value: unknown, { path, problems }: Place): Pick<Trigger, 'metricType'> {
  if (value === undefined) return {};
  const metricType = metricTypes.find((one) => one === value);
  const isOfResources = ofResources.includes(type);
  const fits = isOfResources ? metricType !== 'Value' : metricType !== 'Utilization';
  if (metricType !== undefined && fits) return { metricType };
  problems.add(path, `metricType must be ${isOfResources ? 'Utilization or AverageValue' : 'AverageValue or Value'}`);
  return {};
}

function isTrue(value: unknown, { path, problems }: Place): boolean {
  if (value === true || value === 'true') return true;
  if (value !== undefined && value !== false && value !== 'false') problems.add(path, 'useCachedMetrics must be true or false');
  return false;
}

const references = { secretTargetRef: 'a Secret', configMapTargetRef: 'a ConfigMap' } as const;
/** Names of objects of Kubernetes (RFC 1123). */
// Values and pull secrets of rollouts, and releases of charts: an address that a trigger names would get registry passwords out of them.
const ownSecret = /-[0-9a-f]{10}(-registry)?$|^sh\.helm\.release\./;
const objectName = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** With what a trigger shows who it is: names of what has the values, never these. */
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
          `${member} must not name ${name}: Secrets called so hold what Davit deploys with. Variables are named in env`,
        );
    return list.length === 0 ? [] : [[member, list.map(({ parameter = '', name = '', key = '' }) => ({ parameter, name, key }))]];
  });
  const variables = readList(env, ['parameter', 'name'], { at: 'env', path, problems });
  return {
    ...Object.fromEntries(values),
    ...(variables.length > 0 && { env: variables.map(({ parameter = '', name = '' }) => ({ parameter, name })) }),
  };
}

/** A list of maps with exactly these members. */
function readList(
  value: unknown,
  members: readonly string[],
  { at, path, problems }: Place & { readonly at: string },
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
    // Each is a text, as was just seen.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return isRight ? [map as Readonly<Record<string, string>>] : [];
  });
}

/** Null, and a problem, where it is none. */
function readYaml({ text, path }: Written, problems: Problems): Map | null {
  try {
    const found: unknown = load(text, { schema: FAILSAFE_SCHEMA, maxAliases: 0, maxDepth: 8 });
    if (isMap(found)) return found;
    problems.add(path, 'must be a map in YAML');
  } catch (error) {
    const line = error instanceof YAMLException && error.mark !== undefined ? ` in line ${error.mark.line + 1}` : '';
    // The reason is the parser's; what stands there is not repeated.
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

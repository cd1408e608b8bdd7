import { describe, expect, test } from 'vitest';
import { Problems } from '../../shared/problems.ts';
import { toAutoscaling, toAutoscalingRecord, toEvents, type AutoscalingSpec } from './autoscaling.ts';
import type { ProcessRequest } from './request.ts';

type Request = NonNullable<ProcessRequest['autoscaling']>;
type Scaler = Request['scalers'][number];

const cron: Scaler = {
  scaler_type: 'cron',
  role: 'PRIMARY',
  config_yaml: 'timezone: Etc/UTC\nstart: 0 6 * * *\nend: 0 20 * * *\ndesiredReplicas: 3',
};
const request = (...scalers: readonly Scaler[]): Request => ({ mode: 'KEDA', scalers: [...scalers] });

function made(choice: Request, former?: AutoscalingSpec): AutoscalingSpec {
  const problems = new Problems();
  const spec = toAutoscaling(choice, former, problems);
  expect(problems.found).toEqual([]);
  return spec;
}

function faults(scaler: Partial<Scaler>): string[] {
  const problems = new Problems();
  toAutoscaling(request({ ...cron, ...scaler }), undefined, problems);
  return problems.found.map(({ path, message }) => `${path}: ${message}`);
}

const authenticated = (config_yaml: string): Partial<Scaler> => ({ trigger_authentication: { name: 'broker', config_yaml } });

describe('what a scaler says', () => {
  test('becomes a trigger of texts, with the defaults that the contract has', () => {
    expect(toEvents(made(request(cron)))).toEqual({
      pollingSeconds: 30,
      cooldownSeconds: 300,
      triggers: [
        { type: 'cron', metadata: { timezone: 'Etc/UTC', start: '0 6 * * *', end: '0 20 * * *', desiredReplicas: '3' } },
      ],
    });
  });

  test('is the same in JSON, and may be a whole trigger', () => {
    const metadata = { queueLength: 5, exact: true, name: '0123' };
    const triggers = [{ type: 'x', metadata: { queueLength: '5', exact: 'true', name: '0123' } }];
    const json = { scaler_type: 'x', role: 'PRIMARY' as const, config_json: metadata };
    expect(toEvents(made(request(json)))).toMatchObject({ triggers });
    const yaml = 'metadata: {queueLength: 5, exact: true, name: 0123}\nmetricType: AverageValue\nuseCachedMetrics: true';
    expect(toEvents(made(request({ scaler_type: 'x', role: 'PRIMARY', config_yaml: yaml })))).toEqual(
      expect.objectContaining({ triggers: [{ ...triggers[0], metricType: 'AverageValue', useCachedMetrics: true }] }),
    );
  });

  test('goes by PRIMARY first, without what is not enabled; with none enabled nothing scales by events', () => {
    const cpu: Scaler = { scaler_type: 'cpu', role: 'SAFETY', config_json: { value: 60 } };
    expect(toEvents(made(request(cpu, cron)))?.triggers).toMatchObject([
      { type: 'cron' },
      { type: 'cpu', metricType: 'Utilization', metadata: { value: '60' } },
    ]);
    expect(toEvents(made(request(cpu, { ...cron, enabled: false })))?.triggers).toHaveLength(1);
    expect(toEvents(made(request({ ...cron, enabled: false })))).toBeNull();
    expect(toEvents(undefined)).toBeNull();
  });

  test.each([
    [{ config_yaml: null }, /^autoscaling\.scalers\.0\.config_yaml: must be set, or config_json: exactly one/],
    [{ config_json: {} }, /^autoscaling\.scalers\.0\.config_yaml: must be set, or config_json: exactly one/],
    [{ config_yaml: '- a' }, /config_yaml: must be a map in YAML/],
    [{ config_yaml: 'a: [' }, /config_yaml: must be a map in YAML; it is none in line \d+: /],
    [{ config_yaml: 'a: 1\na: 2' }, /it is none in line 2: duplicated/],
    [{ config_yaml: 'a: &x 1\nb: *x' }, /config_yaml: must be a map in YAML; it is none/],
    [{ config_yaml: 'a: {b: 1}' }, /config_yaml: a must be a string, a number or a boolean/],
    [{ config_yaml: null, config_json: { a: null } }, /config_json: a must be a string, a number or a boolean/],
    [
      { config_yaml: 'metadata: {}\nauthenticationRef: {name: x, kind: ClusterTriggerAuthentication}' },
      /write the content of the object that it names in trigger_auth/,
    ],
    [{ config_yaml: 'metadata: {}\ntype: cron' }, /type belongs in scaler_type/],
    [{ config_yaml: 'metadata: {}\nmetricType: Utilization' }, /metricType must be AverageValue or Value/],
    [{ config_yaml: 'metadata: {}\nuseCachedMetrics: perhaps' }, /useCachedMetrics must be true or false/],
    [{ config_yaml: 'identityOwner: operator' }, /identityOwner must be pod/],
    [
      { scaler_type: 'cpu', config_yaml: 'metadata: {value: 5}\nmetricType: Value' },
      /metricType must be Utilization or AverageValue/,
    ],
  ] satisfies [Partial<Scaler>, RegExp][])('is refused with its place: %j', (scaler, words) => {
    expect(faults(scaler)).toEqual([expect.stringMatching(words)]);
  });
});

describe('trigger_authentication', () => {
  const config = 'secretTargetRef: [{parameter: host, name: broker, key: url}]\nenv: [{parameter: password, name: PASSWORD}]';

  test('names Secrets and variables, and several scalers may share one', () => {
    const queue = (name: string, trigger_authentication: Scaler['trigger_authentication']): Scaler => ({
      scaler_type: 'rabbitmq',
      role: 'PRIMARY',
      config_json: { queueName: name },
      trigger_authentication,
    });
    const spec = made(request(queue('a', { name: 'broker' }), queue('b', { name: 'broker', config_yaml: config })));
    const authentication = {
      name: 'broker',
      secretTargetRef: [{ parameter: 'host', name: 'broker', key: 'url' }],
      env: [{ parameter: 'password', name: 'PASSWORD' }],
    };
    expect(toEvents(spec)?.triggers).toMatchObject([{ authentication }, { authentication }]);
  });

  test.each([
    ['podIdentity: {provider: aws}', /podIdentity is not offered: KEDA would use an identity of its own/],
    ['hashiCorpVault: {credential: {token: canary}}', /hashiCorpVault is not offered/],
    ['filePath: /etc/passwd', /filePath is not offered/],
    ['{}', /must have env \(variables of the service\)/],
    ['env: [{parameter: a, name: B, containerName: other}]', /env\.0 must be a map with parameter, name, and nothing else/],
    ['env: {parameter: a}', /env must be a list of maps with parameter, name/],
    ['secretTargetRef: [{parameter: a, name: ../x, key: b}]', /secretTargetRef must name a Secret of the environment/],
    ['secretTargetRef: [{parameter: a, name: web-0123456789-registry, key: b}]', /hold what Davit deploys with/],
    ['secretTargetRef: [{parameter: a, name: sh.helm.release.v1.db.v1, key: b}]', /hold what Davit deploys with/],
    ['secretTargetRef: [{parameter: a, name: b, value: canary}]', /secretTargetRef\.0 must be a map with parameter, name, key/],
  ])('is refused with its place: %s', (text, words) => {
    const found = faults(authenticated(text));
    expect(found).toEqual([expect.stringMatching(words)]);
    expect(found.join()).toContain('autoscaling.scalers.0.trigger_authentication.config_yaml');
    expect(found.join()).not.toContain('canary');
  });

  test('is wanted where it is named', () => {
    expect(faults({ trigger_authentication: { name: 'broker' } })).toEqual([
      expect.stringMatching(/config_yaml: is required, unless/),
    ]);
  });
});

test('ids and times stay through an edit; what changed has another time', async () => {
  const former = made(request({ ...cron, ...authenticated('env: [{parameter: a, name: B}]') }));
  expect(made(request({ ...cron, ...authenticated('env: [{parameter: a, name: B}]') }), former)).toEqual(former);
  await expect.poll(() => new Date().toISOString() > former.updated_at).toBe(true);
  const next = made(
    { ...request({ ...cron, ...authenticated('env: [{parameter: a, name: C}]') }), polling_interval_seconds: 5 },
    former,
  );
  const [scaler] = next.scalers;
  expect([next.id, scaler?.id, scaler?.trigger_authentication?.id]).toEqual([
    former.id,
    former.scalers[0]?.id,
    former.scalers[0]?.trigger_authentication?.id,
  ]);
  expect(next.updated_at > former.updated_at).toBe(true);
  expect(next.created_at).toBe(former.created_at);
});

test('the record is the contract’s: with ids of service and organization', () => {
  const ids = { id: 'service', organization_id: 'organization' };
  const spec = made(
    request({ scaler_type: 'cron', role: 'SAFETY', config_json: { a: 1 }, ...authenticated('env: [{parameter: a, name: B}]') }),
  );
  expect(toAutoscalingRecord(spec, ids).autoscaling).toMatchObject({
    service_id: 'service',
    mode: 'KEDA',
    polling_interval_seconds: 30,
    scalers: [
      {
        enabled: true,
        role: 'SAFETY',
        config_json: { a: 1 },
        config_yaml: null,
        trigger_authentication: { organization_id: 'organization' },
      },
    ],
  });
  expect(toAutoscalingRecord(undefined, ids)).toEqual({});
});

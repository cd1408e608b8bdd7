import { describe, expect, test } from 'vitest';
import { Problems } from '../../shared/problems.ts';
import { mergedSettings, toReleaseOptions, type AdvancedSettingsSpec } from './advanced-settings.ts';

const network = (name: string): string => `network.ingress.${name}`;
const defaults: AdvancedSettingsSpec = {
  'build.cpu_max_in_milli': 2000,
  ...Object.fromEntries(
    [
      'whitelist_source_range',
      'denylist_source_range',
      'cors_allow_origin',
      'cors_allow_methods',
      'cors_allow_headers',
      'extra_headers',
    ].map((name) => [network(name), '']),
  ),
};

function merged(request: Record<string, unknown>, former: AdvancedSettingsSpec = {}) {
  const problems = new Problems();
  const spec = mergedSettings(request, former, { defaults, most: { 'build.cpu_max_in_milli': 2000 }, problems });
  return { spec, faults: problems.found.map(({ path, message }) => `${path} ${message}`) };
}

describe('a request', () => {
  test('keeps what it leaves out, and null is the default again', () => {
    const { spec } = merged(
      { 'build.cpu_max_in_milli': null },
      { 'build.cpu_max_in_milli': 500, [network('extra_headers')]: '{}' },
    );
    expect(spec).toEqual({ [network('extra_headers')]: '{}' });
  });

  test('with a setting that is not offered is told which ones are', () => {
    const { faults } = merged({ 'hpa.cpu.average_utilization_percent': 60 });
    expect(faults).toEqual([expect.stringMatching(/^hpa\.cpu\S+ is not offered; the settings are build\.cpu_max_in_milli, /)]);
  });

  test.each([
    ['build.cpu_max_in_milli', 2001, 'at most 2000'],
    [network('whitelist_source_range'), '', '0.0.0.0/0,::/0'],
    [network('whitelist_source_range'), '10.0.0.0/33', '"10.0.0.0/33"'],
    [network('denylist_source_range'), '10.0.0.1, example.org', '"example.org"'],
    [network('cors_allow_origin'), 'example.org', '"example.org"'],
    [network('denylist_source_range'), ' , ', 'or be empty'],
    [network('cors_allow_origin'), ' ,', 'must have an origin'],
    [network('cors_allow_methods'), '', 'network.ingress.enable_cors to false'],
    [network('cors_allow_methods'), ',', 'must have a method'],
    [network('cors_allow_headers'), '', 'Accept alone'],
    [
      network('extra_headers'),
      JSON.stringify(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`X-${n}`, 'a']))),
      'at most 50',
    ],
    [network('extra_headers'), JSON.stringify({ A: 'a'.repeat(4000), B: 'a'.repeat(3999) }), 'it has 2 with 8001'],
    [network('cors_allow_methods'), 'GET POST', '"GET POST"'],
    [network('cors_allow_headers'), 'X;Y', '"X;Y"'],
    [network('extra_headers'), '{"A": 1}', 'object of strings'],
    [network('extra_headers'), '["A"]', 'object of strings'],
    [network('extra_headers'), 'A: b', 'object of strings'],
    [network('extra_headers'), '{"Set-Cookie": "x"}', 'must not have the header "Set-Cookie"'],
    [network('extra_headers'), '{"X-A": "b\\nX-C: d"}', 'printable ASCII'],
    [network('extra_headers'), '{"X A": "b"}', 'must not have the header'],
  ])('with %s %j is refused', (name, value, words) => {
    const { faults } = merged({ [name]: value });
    expect(faults).toEqual([expect.stringContaining(words)]);
  });
});

describe('a release', () => {
  test('without settings has no options, so that its hash is what it was', () => {
    expect(toReleaseOptions({})).toEqual({});
    expect(toReleaseOptions({ [network('proxy_body_size_mb')]: 0, 'deployment.update_strategy.type': 'RollingUpdate' })).toEqual(
      {},
    );
  });

  test('has what was set, for the ports that it is for', () => {
    const { options } = toReleaseOptions({
      'deployment.termination_grace_period_seconds': 5,
      'deployment.update_strategy.type': 'Recreate',
      'security.read_only_root_filesystem': true,
      'deployment.custom_domain_check_enabled': false,
      'build.timeout_max_sec': 60,
      'build.ram_max_in_gib': 2,
      'build.disable_buildkit_cache': true,
      [network('whitelist_source_range')]: '10.0.0.0/8, ::1',
      [network('grpc_read_timeout_seconds')]: 9,
      [network('enable_cors')]: true,
      [network('cors_allow_origin')]: 'https://a.example',
      [network('extra_headers')]: '{"X-A": "b"}',
    });
    const both = {
      allowedSources: ['10.0.0.0/8', '::1'],
      crossOrigin: {
        origins: ['https://a.example'],
        methods: ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'],
        headers: expect.arrayContaining(['Authorization']),
      },
      headers: { 'X-A': 'b' },
    };
    expect(options).toEqual({
      terminationGraceSeconds: 5,
      recreate: true,
      readOnlyRootFilesystem: true,
      unchecked: true,
      build: { timeoutSeconds: 60, memoryMiB: 2048, withoutCache: true },
      gateway: { http: both, grpc: { ...both, readTimeoutSeconds: 9 } },
    });
  });
});

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '..');

test('the OpenAPI document keeps the rules of a common linter', { timeout: 120_000 }, () => {
  const linter = path.join(root, 'node_modules/@redocly/cli/bin/cli.js');
  const rules = path.join(root, 'packages/contract/redocly.yaml');
  const document = path.join(root, 'packages/contract/generated/openapi.json');
  // The linter makes no requests: neither for newer versions of itself nor for telemetry.
  const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [linter, 'lint', '--config', rules, document], {
    env: environment,
    encoding: 'utf8',
  });
  expect({ status, said: status === 0 ? '' : `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
});

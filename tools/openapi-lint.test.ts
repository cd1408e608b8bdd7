import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import core, { type RulesetDefinition } from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const document = path.join(root, 'packages/contract/generated/openapi.json');

test('the OpenAPI document keeps the rules of a common linter', { timeout: 120_000 }, () => {
  const linter = path.join(root, 'node_modules/@redocly/cli/bin/cli.js');
  const rules = path.join(root, 'packages/contract/redocly.yaml');
  // The linter makes no requests: neither for newer versions of itself nor for telemetry.
  const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [linter, 'lint', '--config', rules, document], {
    env: environment,
    encoding: 'utf8',
  });
  expect({ status, said: status === 0 ? '' : `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
});

test('the OpenAPI document keeps the rules of spectral:oas', { timeout: 300_000 }, async () => {
  const linter = new core.Spectral();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package types its rules as a plain object
  const rules = rulesets.oas as unknown as RulesetDefinition;
  linter.setRuleset({ extends: [[rules, 'recommended']] });
  const faults = await linter.run(new core.Document(readFileSync(document, 'utf8'), parsers.Json, 'openapi.json'));
  expect(faults.map(({ code, path: place, message }) => `${code} at ${place.join('.')}: ${message}`)).toEqual([]);
});

import { expect, test } from 'vitest';
import { openApi } from './openapi.ts';
import { operationList, operations } from './operations.ts';
import { whoMay } from './who-may.ts';

test('an operation says which scope, roles and rights of custom roles it needs', () => {
  expect(whoMay(operations.deployApplication)).toBe('Who may: scope DEPLOY; Owner, Admin, DevOps; custom roles with DEPLOYER.');
  expect(whoMay(operations.listOrganizationCluster)).toBe(
    'Who may: scope READ; Owner, Admin, DevOps, Billing manager, Viewer; custom roles.',
  );
  expect(whoMay(operations.deleteOrganization)).toBe('Who may: scope ADMIN; Owner.');
  expect(whoMay(operations.signIn)).toBe('Who may: everybody, without a token.');
  expect(whoMay(operations.createPasskey)).toBe('Who may: signed-in people, no API tokens.');
  expect(whoMay(operations.createVariable)).toBe('Who may: scope WRITE; Owner, Admin, DevOps; custom roles with MANAGER.');
});

test('who may use an operation stands once in its description, before its error codes', () => {
  const { paths } = openApi(operationList, '0');
  const texts = [...JSON.stringify(paths).matchAll(/"description":"((?:[^"\\]|\\.)*Who may: (?:[^"\\]|\\.)*)"/g)];
  expect(texts).toHaveLength(operationList.length);
  for (const [, text] of texts) expect(text).not.toMatch(/Who may: .*Who may: |\| Code.*Who may: /);
});

import { operationList, operations, type Operation } from '@davit/contract';
import { expect, test } from 'vitest';
import { queryChecker } from './validation.ts';

const checked = (operation: Operation, query: Record<string, unknown>): unknown => queryChecker(operation)(query);

const isDryRun = ({ query }: Operation): boolean => {
  const { properties }: { readonly properties?: object } = query ?? {};
  return properties !== undefined && Object.hasOwn(properties, 'dry_run');
};
const deaf = operationList.filter((operation) => operation.method !== 'GET' && !isDryRun(operation));

test.each(deaf.map((operation) => [operation.id, operation] as const))(
  '%s refuses dry_run, which it does not know',
  (_id, operation) => {
    for (const name of ['dry_run', 'dryRun', 'dry-run']) {
      expect(() => checked(operation, { [name]: 'true' })).toThrow(
        /not offered by this operation, and nothing was done.*POST …\/deploy/,
      );
    }
  },
);

test('a read takes any query, and a write one that asks for nothing less', () => {
  expect(checked(operations.getApplication, { dry_run: 'true' })).toEqual({ dry_run: 'true' });
  expect(checked(operations.deleteApplication, { dry_run: 'false', colour: 'red' })).toEqual({ dry_run: 'false', colour: 'red' });
  expect(checked(operations.deployApplication, { dry_run: 'true' })).toEqual({ dry_run: true });
});

test('a flag in another spelling is refused with the right one', () => {
  expect(() => checked(operations.deployApplication, { dryRun: 'true' })).toThrow(
    'dryRun must be written dry_run; nothing was done',
  );
});

test('other flags that spare something are refused where they are not known', () => {
  expect(() => checked(operations.deleteApplication, { resources_only: 'true' })).toThrow(/Offered by: DELETE \/terraform\/…/);
  expect(() => checked(operations.deployApplication, { forceEvent: 'DIFF' })).toThrow(/not offered/);
  expect(() => checked(operations.deleteHelm, { force_terraform_action: 'SKIP_DESTROY' })).toThrow(/not offered/);
  expect(() => checked(operations.deleteEnvironment, { deleteMode: 'DELETE_SERVICE_CONFIG' })).toThrow(/not offered/);
});

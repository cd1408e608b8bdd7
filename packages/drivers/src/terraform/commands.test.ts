import { expect, test } from 'vitest';
import { DriverError } from '../errors.ts';
import type { TerraformRun } from '../terraform-driver.ts';
import { argumentVariables } from './commands.ts';
import { testRun } from './testing.ts';

function refusal(overrides: Partial<TerraformRun>, command = 'plan'): DriverError {
  try {
    argumentVariables(testRun(overrides), command);
  } catch (error) {
    if (error instanceof DriverError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

test('variables that are together too long for the environment of a process are named with their sizes, and never shown', () => {
  const variables = { policy: 'canary-p'.repeat(8_750), small: 'canary-s', rules: 'canary-r'.repeat(8_751) };
  const { code, message, hint } = refusal({ variables });
  expect(code).toBe('TERRAFORM_FAILED');
  expect(message).toMatch(
    /a process accepts at most 131071; the largest: rules \(70021 bytes\), policy \(70014 bytes\), small \(21 bytes\)$/,
  );
  expect(message).not.toContain('canary');
  expect(hint).toContain('tf_var_file_paths');
  expect(hint).not.toContain('canary');
});

test('the limit is that of the whole entry, in bytes and with its quotes', () => {
  const remaining = 131_071 - "TF_CLI_ARGS_plan='-var=a='".length;
  expect(argumentVariables(testRun({ variables: { a: 'x'.repeat(remaining) } }), 'plan')['TF_CLI_ARGS_plan']).toHaveLength(
    131_054,
  );
  expect(refusal({ variables: { a: 'x'.repeat(remaining + 1) } }).message).toContain('a (');
  // Each quote becomes five characters, so a value far below the limit is too long.
  expect(refusal({ variables: { a: "'".repeat(30_000) } }).message).toMatch(/a \(150\d\d\d bytes\)/);
  expect(refusal({ variables: { a: 'ü'.repeat(70_000) } }).message).toMatch(/a \(140\d\d\d bytes\)/);
});

test('files of variables and arguments of one’s own count too, with any command', () => {
  const extraArguments = { plan: [`-target=${'x'.repeat(70_000)}`], apply: [`-target=${'x'.repeat(140_000)}`] };
  expect(refusal({ extraArguments, variables: { a: 'x'.repeat(70_000) } }).message).toMatch(
    /action_extra_arguments\.plan \(700\d\d bytes\), a \(700\d\d bytes\)/,
  );
  expect(refusal({ extraArguments }, 'apply').message).toMatch(/action_extra_arguments\.apply \(1400\d\d bytes\)/);
  const variableFiles = Array.from({ length: 20 }, (_, index) => `${index}${'f'.repeat(8_000)}`);
  expect(refusal({ variableFiles }).message).toMatch(/tf_var_file_paths \(160\d\d\d bytes\)/);
});

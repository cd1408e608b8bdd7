import { expect, test } from 'vitest';
import type { ServiceOutput } from '../model.ts';
import { outputFolders, parseOutputs, storable } from './outputs.ts';

test('outputs are read with their defaults, and what is no text as JSON', () => {
  const text = '{"HOST": {"value": "db"}, "PORT": {"value": 5432, "sensitive": true, "description": "of it"}}';
  expect(parseOutputs(text)).toEqual({
    outputs: [
      { name: 'HOST', value: 'db', sensitive: false, description: null },
      { name: 'PORT', value: '5432', sensitive: true, description: 'of it' },
    ],
  });
});

test.each(['', '[]', '"x"', '{"A": "b"}', '{"A": {}}', '{"A-B": {"value": "x"}}', '{"A": null}'])('%j is refused', (text) => {
  expect(parseOutputs(text)).toHaveProperty('fault');
});

const service = { builtInPrefix: 'DAVIT_', type: 'JOB', id: 'a9f0a2c4-0000-4000-8000-000000000001' } as const;
const output = (name: string, value: string, description: string | null = null): ServiceOutput => ({
  name,
  value,
  sensitive: false,
  description,
});

test('an output that no process could get is left out and named with its size and the limit; the rest is kept', () => {
  const host = output('HOST', 'db', 'of the shop');
  const { outputs, notes } = storable([output('BIG', 'x'.repeat(204_800)), host], service);
  expect(outputs).toEqual([host]);
  expect(notes).toEqual([
    "The output BIG is ignored: its value of 204800 bytes with its key DAVIT_OUTPUT_JOB_ZA9F0A2C4_BIG is too long for a process's environment, which takes 131071 bytes.",
  ]);
});

test('the limit is that of one entry of a process, in bytes, under the key that the resources store it with', () => {
  // The longer one of the two keys of the output; the other one is the plain name.
  const remaining = 131_071 - 'DAVIT_OUTPUT_JOB_ZA9F0A2C4_A='.length;
  const kept = (value: string) => storable([output('A', value)], service).outputs.length;
  expect(kept('x'.repeat(remaining))).toBe(1);
  expect(kept('x'.repeat(remaining + 1))).toBe(0);
  expect(kept('ü'.repeat(Math.floor(remaining / 2)))).toBe(1);
  expect(kept('ü'.repeat(Math.floor(remaining / 2) + 1))).toBe(0);
  const terraform = { ...service, type: 'TERRAFORM' } as const;
  expect(storable([output('A', 'x'.repeat(remaining))], terraform).outputs).toEqual([]);
});

test('an output with a NUL is left out, as neither a process nor the database takes it', () => {
  const { outputs, notes } = storable([output('A', 'a\0b'), output('B', 'b', 'for\0'), output('C', 'c')], service);
  expect(outputs.map(({ name }) => name)).toEqual(['C']);
  expect(notes).toEqual([
    'The output A is ignored: its value of 3 bytes has a NUL character, which variables cannot contain.',
    'The output B is ignored: its description of 4 bytes has a NUL character, which variables cannot contain.',
  ]);
});

test('a job can write into the folder of Davit and into that of the client', () => {
  const clientTexts = { chartReference: null, jobOutputFile: '/client-output/output.json' };
  expect(outputFolders({})).toEqual(['/davit-output']);
  expect(outputFolders({ clientTexts })).toEqual(['/davit-output', '/client-output']);
});

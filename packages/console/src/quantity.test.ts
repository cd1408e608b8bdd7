import { expect, test } from 'vitest';
import { coresOf, instancesOf, memoryOf, shortInstancesOf } from './quantity.ts';

test('numbers have their units, and one is one', () => {
  expect([250, 1000, 2000, 1500].map(coresOf)).toEqual(['0.25 cores', '1 core', '2 cores', '1.5 cores']);
  expect([512, 1024, 1536, 262_144].map(memoryOf)).toEqual(['512 MiB', '1 GiB', '1.5 GiB', '256 GiB']);
});

test('a number of instances that nobody knows is not zero', () => {
  expect([instancesOf(2, 3), instancesOf(0, 1), instancesOf(null, 3), instancesOf(undefined, 1)]).toEqual([
    '2 of 3 instances running',
    '0 of 1 instance running',
    '3 instances wanted',
    '1 instance wanted',
  ]);
  expect([shortInstancesOf(0, 2), shortInstancesOf(null, 2)]).toEqual(['0/2', '–/2']);
});

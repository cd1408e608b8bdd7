import { expect, test } from 'vitest';
import { toKubernetesCron, toKubernetesZone } from './cron-expression.ts';

test.each([
  ['*/15 * * * *', '0,15,30,45 * * * *'],
  ['0 9 * * mon-fri', '0 9 * * 1,2,3,4,5'],
  ['0 9 * * 5-7', '0 9 * * 0,5,6'],
  ['0 9 * * fri-sun', '0 9 * * 0,5,6'],
  ['0 0 13 * 5', '0 0 13 * 5'],
  // Each day matches one of the two fields.
  ['0 0 */1 * 5', '0 0 * * *'],
  ['0 0 ? JAN,jul *', '0 0 * 1,7 *'],
])('%j is %j to Kubernetes', (text, expression) => {
  expect(toKubernetesCron(text)).toEqual({ expression });
});

test('time zones are named as Kubernetes knows them', () => {
  expect(['europe/paris', 'Europe/Paris', 'Etc/UTC', 'utc', 'Asia/Kolkata'].map(toKubernetesZone)).toEqual([
    'Europe/Paris',
    'Europe/Paris',
    'Etc/UTC',
    'UTC',
    'Asia/Kolkata',
  ]);
  const eastern = ['US/Eastern', 'US/eastern', 'US/EASTERN', 'EST5EDT'].map(toKubernetesZone);
  expect(eastern).toEqual(['US/Eastern', 'America/New_York', 'America/New_York', 'EST5EDT']);
});

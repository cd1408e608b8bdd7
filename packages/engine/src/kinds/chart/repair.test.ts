import { expect, test } from 'vitest';
import { isInstalled, repairOf, type Revision } from './repair.ts';

/** Builds revisions from words like `deployed a`, oldest first. */
const history = (...words: string[]): Revision[] =>
  words.map((word, index) => {
    const [status = '', rollout = null] = word.split(' ');
    return { revision: index + 1, status, rollout };
  });

test.each([
  ['nothing was ever installed', [], null, { type: 'NOTHING' }],
  ['the first install failed', ['failed b'], null, { type: 'UNINSTALL' }],
  ['the first install was killed', ['pending-install b'], null, { type: 'UNINSTALL' }],
  ['what was deployed is', ['superseded x', 'deployed a'], 'a', { type: 'NOTHING' }],
  ['an upgrade failed', ['deployed a', 'failed b'], 'a', { type: 'ROLLBACK', revision: 1 }],
  ['an upgrade was killed', ['deployed a', 'pending-upgrade b'], 'a', { type: 'ROLLBACK', revision: 1 }],
  ['an upgrade was done and is not wanted', ['superseded a', 'deployed b'], 'a', { type: 'ROLLBACK', revision: 1 }],
  ['a rollback was killed', ['deployed a', 'failed b', 'pending-rollback a'], 'a', { type: 'ROLLBACK', revision: 1 }],
  [
    'a rollback failed before',
    ['superseded z', 'superseded a', 'superseded b', 'failed a'],
    'a',
    { type: 'ROLLBACK', revision: 2 },
  ],
  ['a rollback was done', ['superseded a', 'superseded b', 'deployed a'], 'a', { type: 'NOTHING' }],
  ['somebody brought another one back by hand', ['superseded x', 'deployed x'], 'a', { type: 'NOTHING' }],
  ['an upgrade after that failed', ['deployed x', 'failed b'], 'a', { type: 'ROLLBACK', revision: 1 }],
  ['it was being uninstalled', ['superseded x', 'uninstalling a'], 'a', { type: 'UNINSTALL' }],
  ['only another first install was killed', ['pending-install b'], 'a', { type: 'UNINSTALL' }],
  ['only another upgrade was killed', ['failed x', 'pending-upgrade b'], 'a', { type: 'UNINSTALL' }],
  ['all is uninstalled', ['uninstalled a'], 'a', { type: 'NOTHING' }],
] as const)('when %s, what was deployed before is brought back', (_, revisions, former, expected) => {
  expect(repairOf(history(...revisions), former)).toEqual(expected);
});

test('what an interrupted deployment had installed is known', () => {
  expect(isInstalled(history('superseded a', 'deployed b'), 'b')).toBe(true);
  expect(isInstalled(history('deployed a', 'pending-upgrade b'), 'b')).toBe(false);
  expect(isInstalled([], 'b')).toBe(false);
});

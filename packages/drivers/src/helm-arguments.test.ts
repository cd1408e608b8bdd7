import { expect, test } from 'vitest';
import { checkedArguments, helmArgumentFaults } from './helm-arguments.ts';

test('arguments that only change how a chart is installed are taken', () => {
  const given = ['--no-hooks', '--skip-crds=true', '--history-max', '3', '--wait-for-jobs'];
  expect(checkedArguments(given)).toEqual(['--no-hooks', '--skip-crds', '--history-max=3', '--wait-for-jobs']);
});

test('no more than fifty revisions are kept', () => {
  expect(checkedArguments(['--history-max=50', '--history-max', '9999'])).toEqual(['--history-max=50', '--history-max=50']);
});

test('what Davit does anyway is taken and left out', () => {
  expect(checkedArguments(['--wait', '--atomic', '--rollback-on-failure', '--install', '--wait=watcher'])).toEqual([]);
});

test.each([
  '--kube-context=other',
  '--kubeconfig',
  '--kube-as-user=admin',
  '--kube-token=x',
  '--namespace=kube-system',
  '-n',
  '-nkube-system',
  '--create-namespace',
  '--post-renderer=/bin/sh',
  '--post-renderer-args=x',
  '--debug',
  '-o',
  '--output=json',
  '--dry-run',
  '--dry-run=client',
  '--set=a=b',
  '--set-file=a=/etc/passwd',
  '-f',
  '--values=/etc/passwd',
  '--repo=http://10.0.0.1',
  '--registry-config=/x',
  '--force-replace',
  '--take-ownership',
  '--enable-dns',
  '--labels=a=b',
  '--description=x',
  '--history-max=0',
  '--history-max',
  '--wait=nonsense',
  '--never-heard-of',
  'another-chart',
  '',
])('the argument %j is refused', (argument) => {
  expect(() => checkedArguments([argument])).toThrow(expect.objectContaining({ code: 'HELM_ARGUMENT_REFUSED' }));
});

test('a refusal says what to do, and nothing of what stands behind the sign', () => {
  expect(() => checkedArguments(['--set=password=sesame'])).toThrow(
    /the argument --set is not accepted: put values into values_override/,
  );
  expect(() => checkedArguments(['--set=password=sesame'])).not.toThrow(/sesame/);
});

test('objects are not replaced by force, which Helm refuses together with what Davit always does', () => {
  expect(() => checkedArguments(['--force-replace'])).toThrow(/--force-replace is not accepted: .* delete the object/);
});

test('each one that is not taken is told with its place', () => {
  const given = ['--atomic', '--kubeconfig=/x', '--history-max', '3', '--set', 'a=b', '--history-max', 'all'];
  const faults = helmArgumentFaults(given).map(({ index, name }) => ({ index, name }));
  expect(faults).toEqual([
    { index: 1, name: '--kubeconfig' },
    { index: 4, name: '--set' },
    { index: 6, name: '--history-max' },
  ]);
  expect(helmArgumentFaults(['--atomic', '--history-max=3'])).toEqual([]);
  expect(JSON.stringify(helmArgumentFaults(['--kube-token', 'sesame', '-n', 'x', 'another-chart']))).not.toContain('sesame');
  expect(helmArgumentFaults(['chart', '--set=a=b', 'other']).map(({ index }) => index)).toEqual([0, 1, 2]);
});

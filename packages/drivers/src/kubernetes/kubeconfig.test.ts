import { describe, expect, test } from 'vitest';
import { readKubeconfig } from './kubeconfig.ts';

const pem = Buffer.from('-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n').toString('base64');
const config = ({ cluster = '', user = 'token: canary-token', current = 'current-context: rack' } = {}): string => `
apiVersion: v1
kind: Config
${current}
contexts:
- {name: rack, context: {cluster: rack-cluster, user: admin}}
- {name: other, context: {cluster: missing, user: admin}}
clusters:
- name: rack-cluster
  cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: ${pem}${cluster}}
users:
- name: admin
  user: {${user}}
`;

test('the current context says where the server is and as whom it is called', () => {
  expect(readKubeconfig(config())).toEqual({
    server: 'https://10.0.0.1:6443',
    isUnchecked: false,
    authority: Buffer.from(pem, 'base64').toString(),
    token: 'canary-token',
  });
  const certificate = readKubeconfig(config({ user: `client-certificate-data: ${pem}, client-key-data: ${pem}` }));
  expect(certificate.certificate).toContain('BEGIN CERTIFICATE');
  expect(certificate.token).toBeUndefined();
});

describe('a kubeconfig that would reach into this machine is refused', () => {
  test.each([
    'exec: {command: touch, args: [/tmp/owned], apiVersion: client.authentication.k8s.io/v1}',
    'auth-provider: {name: gcp, config: {cmd-path: /bin/sh}}',
    'tokenFile: /etc/shadow',
    'client-certificate: /etc/passwd',
    'client-key: /etc/passwd',
    'token: a, as: system:admin',
  ])('%s', (user) => {
    expect(() => readKubeconfig(config({ user }))).toThrow(/needs a program, a file or another host/);
  });
  test.each([', certificate-authority: /etc/shadow', ', proxy-url: "http://127.0.0.1:22"'])('cluster%s', (cluster) => {
    expect(() => readKubeconfig(config({ cluster }))).toThrow(/needs a program, a file or another host/);
  });
});

test('what is wrong is said without showing the text', () => {
  const failing: readonly [string, RegExp][] = [
    ['{canary-token', /is no YAML/],
    [config({ current: 'current-context: absent' }), /has no context absent/],
    [config({ current: '' }), /has no current-context/],
    [config({ current: 'current-context: other' }), /has no cluster missing/],
    [config().replace('https://10.0.0.1:6443/', 'http://10.0.0.1:6443/'), /no https/],
    [config({ user: `client-certificate-data: ${pem}` }), /only one of/],
    [config({ user: 'client-certificate-data: canary-token, client-key-data: canary-token' }), /not PEM/],
    ['[]', /has no current-context/],
  ];
  for (const [text, words] of failing) {
    expect(() => readKubeconfig(text)).toThrow(words);
    expect(() => readKubeconfig(text)).toThrow(expect.not.objectContaining({ message: expect.stringContaining('canary') }));
  }
});

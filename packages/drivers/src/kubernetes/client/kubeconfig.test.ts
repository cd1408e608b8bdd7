import { testCertificate } from '@davit/testkit/certificate';
import { describe, expect, test } from 'vitest';
import { readKubeconfig } from './kubeconfig.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');
const own = await testCertificate('10.0.0.1');
const pem = encoded(own.certificate);
const key = encoded(own.pem);
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
  const certificate = readKubeconfig(config({ user: `client-certificate-data: ${pem}, client-key-data: ${key}` }));
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

test('what is wrong is said without showing the text', async () => {
  const other = await testCertificate('10.0.0.1');
  const failing: readonly [string, RegExp][] = [
    ['{canary-token', /is not YAML/],
    [config({ current: 'current-context: absent' }), /has no context absent/],
    [config({ current: '' }), /has no current-context/],
    [config({ current: 'current-context: other' }), /has no cluster missing/],
    [config().replace('https://10.0.0.1:6443/', 'http://10.0.0.1:6443/'), /not an https/],
    [config({ user: `client-certificate-data: ${pem}` }), /only one of/],
    [config({ user: 'client-certificate-data: canary-token, client-key-data: canary-token' }), /not PEM/],
    [config({ user: `client-certificate-data: ${pem}, client-key-data: ${pem}` }), /cannot be used/],
    [config({ user: `client-certificate-data: ${pem}, client-key-data: ${encoded(other.pem)}` }), /cannot be used/],
    [
      config({ user: `client-certificate-data: ${encoded(own.certificate.slice(0, 200))}, client-key-data: ${key}` }),
      /cannot be used/,
    ],
    [config({ user: 'token: "canary-token\\ncanary"' }), /a token with a line break/],
    [config().replace('https://10.0.0.1:6443/', 'https://canary:canary@10.0.0.1:6443/'), /a user, a query or a fragment/],
    [config().replace('https://10.0.0.1:6443/', 'https://10.0.0.1:6443/admin?canary='), /a user, a query or a fragment/],
    ['[]', /has no current-context/],
  ];
  for (const [text, words] of failing) {
    expect(() => readKubeconfig(text)).toThrow(words);
    expect(() => readKubeconfig(text)).toThrow(expect.not.objectContaining({ message: expect.stringContaining('canary') }));
  }
});

test('a text that stands for far more than it is long costs nothing', () => {
  const levels = Array.from({ length: 9 }, (_, level) => {
    const members = Array.from({ length: 10 }, () => (level === 0 ? 'lol' : `*l${level - 1}`));
    return `&l${level} [${members.join(',')}]`;
  });
  const text = config({ current: 'current-context: nope' }).replace(
    'contexts:',
    `x: [${levels.join(', ')}]\ncontexts:\n- {name: *l8}`,
  );
  const began = performance.now();
  expect(() => readKubeconfig(text)).toThrow(/is not YAML that Davit can parse/);
  expect(performance.now() - began).toBeLessThan(1_000);
});

test('of many contexts, and of long names, a few words are said', () => {
  const contexts = Array.from({ length: 500 }, (_, index) => `- {name: ${'n'.repeat(500)}${index}}`).join('\n');
  const text = config({ current: 'current-context: nope' }).replace('contexts:', `contexts:\n${contexts}`);
  expect(() => readKubeconfig(text)).toThrow(expect.objectContaining({ hint: expect.stringMatching(/^.{1,1500}$/s) }));
});

test('a part that is named and used again is as good as one that is written twice', () => {
  const text = config({ current: 'current-context: &one rack' }).replace('{name: rack,', '{name: *one,');
  expect(readKubeconfig(text).token).toBe('canary-token');
});

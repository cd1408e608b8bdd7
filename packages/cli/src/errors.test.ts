import { ApiError } from '@davit/client';
import { expect, test } from 'vitest';
import { CliError, exitCodes, explain } from './errors.ts';

const server = 'https://davit.example.org';
const failedWith = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(`reason ${code}`), { code }) });

test('each cause of a failure has its exit code, and says what to do', () => {
  expect(explain(new ApiError({ status: 401, code: 'TOKEN_EXPIRED', message: 'The token has expired.' }), server)).toMatchObject({
    message: 'The token has expired.',
    code: 'TOKEN_EXPIRED',
    exitCode: exitCodes.notSignedIn,
    advice: [`Sign in: davit login ${server}`],
  });
  const wrong = new ApiError({
    status: 400,
    code: 'VALIDATION_FAILED',
    message: 'Wrong',
    errors: [{ path: 'name', message: 'is required' }],
  });
  expect(explain(wrong, server)).toMatchObject({ exitCode: exitCodes.failed, advice: ['name is required'] });
  const declined = new CliError('No', { exitCode: exitCodes.declined });
  expect(explain(declined, server)).toMatchObject({ message: 'No', exitCode: 3 });
});

test('a server of another version, an untrusted certificate, and a wrong clock are told apart', () => {
  const unknown = explain(new ApiError({ status: 404, code: 'ROUTE_NOT_FOUND', message: 'There is no such path.' }), server);
  expect(unknown.advice.join('\n')).toContain(`${server}/cli/davit.mjs`);
  const untrusted = explain(failedWith('DEPTH_ZERO_SELF_SIGNED_CERT'), server);
  expect(untrusted).toMatchObject({ message: expect.stringContaining('is not trusted') });
  expect(untrusted.advice.join('\n')).toContain('NODE_EXTRA_CA_CERTS');
  expect(explain(failedWith('CERT_NOT_YET_VALID'), server).advice.join('\n')).toContain('The clock of this machine says');
  expect(explain(failedWith('ECONNREFUSED'), server).message).toContain('does not answer (reason ECONNREFUSED)');
});

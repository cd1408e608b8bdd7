import { expect, test } from 'vitest';
import { gitFailure } from './git-failure.ts';

const repository = { url: 'https://h/shop.git', isLocal: false, origin: 'https://h', credentials: null, maximumBytes: 1 };
const failed = (...stderr: string[]): ReturnType<typeof gitFailure> =>
  gitFailure({ code: 1, stdout: '', stderr: stderr.join('\n'), timedOut: false, exceeded: null, refusedHost: null }, repository);

test('the failure of a submodule, also of a submodule of its own, names its address and the reason', () => {
  const inner = 'https://other/menu.git';
  const ending = [
    `fatal: clone of 'https://x:y@other/menu.git' into submodule path '/w/plugins/menu' failed`,
    `Failed to clone 'menu' a second time, aborting`,
    `fatal: Failed to recurse into submodule path 'plugins'`,
  ];
  const unreachable = failed(`fatal: unable to access '${inner}/': Could not resolve host: other`, ...ending);
  expect(unreachable).toMatchObject({
    code: 'GIT_UNREACHABLE',
    message: `The submodule ${inner} of the git repository https://h/shop.git could not be reached: Could not resolve host: other`,
  });
  const refused = failed(`fatal: could not read Username for 'https://other': terminal prompts disabled`, ...ending);
  expect(refused).toMatchObject({
    code: 'GIT_ACCESS_DENIED',
    message: `The submodule ${inner} of the git repository https://h/shop.git may not be read without credentials, or does not exist.`,
  });
});

test('other failures name the repository', () => {
  const { message } = failed(`fatal: unable to access 'https://h/shop.git/': Could not resolve host: h`);
  expect(message).toBe('The git repository https://h/shop.git could not be reached: Could not resolve host: h');
});

import { expect, test } from 'vitest';
import { callOf, commandsOf } from './command-line.ts';

const server = 'https://davit.example.org';
const last = (project: string, name: string): string | undefined => commandsOf(server, { project, name }).at(-1);

test('the commands install the command line of this server, sign in and deploy', () => {
  expect(commandsOf(server)).toEqual([
    'curl -fo davit https://davit.example.org/cli/davit.mjs && chmod +x davit && sudo mv davit /usr/local/bin/',
    'davit login https://davit.example.org',
    'davit up',
  ]);
  expect(last('shop', 'production')).toBe('davit up --environment shop/production');
});

test('a name that other people chose is one word of the shell, and has no second line', () => {
  expect(last('my shop', 'a$(reboot)')).toBe("davit up --environment 'my shop/a$(reboot)'");
  expect(last("it's", 'new')).toBe(String.raw`davit up --environment 'it'\''s/new'`);
  expect(last('a\nreboot', '\u202Ex')).toBe("davit up --environment 'a?reboot/?x'");
});

test('the command of a form is one word of JSON in one line, without secrets and without characters nobody sees', () => {
  const vars = [
    { key: 'A', value: 'shown', secret: false },
    { key: 'B', value: 'hunter2', secret: true },
  ];
  expect(callOf('createTerraform', { environmentId: 'e' }, { name: "it's\n\u202Ex", vars })).toBe(
    String.raw`davit api createTerraform environmentId=e --body '{"name":"it'\''s\n\u202ex","vars":[{"key":"A","value":"shown","secret":false},{"key":"B","value":"…","secret":true}]}'`,
  );
});

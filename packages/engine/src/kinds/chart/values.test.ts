import { expect, test } from 'vitest';
import { inOwnWords } from './values.ts';

const values = {
  files: [{ name: 'values.yaml', content: 'a: client.env.HOST\nb: "x client.env.PORT"\nc: myclient.env.HOST\nd: client.envy' }],
  set: [['image.tag', 'client.env.TAG'] as const],
  setString: [['client.env.HOST', 'plain'] as const],
  setJson: [['list', '["client.env.HOST", "davit.env.HOST"]'] as const],
};

test('references of clients in chart values become those of Davit, and other texts stay', () => {
  expect(inOwnWords('client.env', values)).toEqual({
    files: [{ name: 'values.yaml', content: 'a: davit.env.HOST\nb: "x davit.env.PORT"\nc: myclient.env.HOST\nd: client.envy' }],
    set: [['image.tag', 'davit.env.TAG']],
    setString: [['client.env.HOST', 'plain']],
    setJson: [['list', '["davit.env.HOST", "davit.env.HOST"]']],
  });
});

test('without words of clients the values are the same', () => {
  expect(inOwnWords(null, values)).toBe(values);
});

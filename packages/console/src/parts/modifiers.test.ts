import { expect, test } from 'vitest';
import { hasModifier, isPlainClick } from './modifiers.ts';

const none = { altKey: false, ctrlKey: false, metaKey: false, shiftKey: false };

test('keys and clicks with a modifier are left to the browser: Alt and an arrow go back, Ctrl and a click open a tab', () => {
  expect([hasModifier(none), isPlainClick({ ...none, button: 0 }), isPlainClick({ ...none, button: 1 })]).toEqual([
    false,
    true,
    false,
  ]);
  for (const name of ['altKey', 'ctrlKey', 'metaKey', 'shiftKey'] as const) {
    const held = { ...none, [name]: true };
    expect([name, hasModifier(held), isPlainClick({ ...held, button: 0 })]).toEqual([name, true, false]);
  }
});
